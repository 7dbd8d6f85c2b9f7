"""Reading a user's data: nothing is dropped in silence."""

import numpy as np
import pytest

from biasflow.cli.verify_command import read_data
from biasflow.errors import InputError


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("1,2,3\n4,5,6\n", 2),
        ("a,b,y\n1,2,3\n4,5,6\n", 2),
        ("\ufeff1,2,3\n4,5,6\n", 2),
        ("\n1,2,3\n\n4,5,6\n", 2),
        ("1,2,3\n", 1),
    ],
)
def test_every_row_is_kept(tmp_path, text, rows):
    file = tmp_path / "data.CSV"
    file.write_text(text, encoding="utf-8")
    data = read_data(file)
    assert data.X.shape == (rows, 2)
    assert np.array_equal(data.X[-1], [4, 5] if rows == 2 else [1, 2])


@pytest.mark.parametrize(
    "text", ["1,,3\n4,5,6\n", "NA,2,3\n4,5,6\n", "", "a,b,y\n", "1,2,3\n4,x,6\n", "1\n2\n"]
)
def test_what_cannot_be_read_is_refused(tmp_path, text):
    file = tmp_path / "data.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="--data"):
        read_data(file)
