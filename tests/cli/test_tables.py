"""A user's tables: what is read, what is refused and in which words."""

import time

import numpy as np
import pytest

from biasflow.cli.tables import read_data, signs_of
from biasflow.errors import InputError

GOOD = np.array([[1.0, 2.0], [4.0, 5.0]])


def write(tmp_path, text, encoding="utf-8"):
    file = tmp_path / "data.csv"
    file.write_bytes(text.encode(encoding))
    return file


@pytest.mark.parametrize(
    "text",
    [
        "a,b,y\n1,2,3\n4,5,6\n",
        "\ufeffa,b,y\r\n1,2,3\r\n4,5,6\r\n",
        '"a","b, in metres","y"\n1,2,3\n4,5,6\n',
        '"a\nin two lines",b,y\n1,2,3\n4,5,6\n',
        "a;b;y\n1;2;3\n4;5;6\n",
        '"a,b";b;y\n1;2;3\n4;5;6',
        "a\tb\ty\n1\t2\t3\n4\t5\t6\n",
        "a, b, y\n 1, 2, 3\n 4, 5, 6\n",
        "\n\na,b,y\n\n1,2,3\n   \n4,5,6\n\n",
        "a,a,y\n1,2,3\n4,5,6\n",
        "a,,y\n1,2,3\n4,5,6\n",
        '"1","2","3"\n4,5,6\n',
        "1e0,+2.0,3\n4,5.,6\n",
    ],
    ids=[
        "plain",
        "BOM and CRLF",
        "comma in a quoted name",
        "line break in a name",
        "semicolons",
        "comma in a name, semicolons",
        "tabs",
        "spaces",
        "blank lines",
        "a name twice",
        "a name missing",
        "quoted numbers",
        "ways to write numbers",
    ],
)
def test_tables_are_read_as_they_come(tmp_path, text):
    data = read_data(write(tmp_path, text))
    np.testing.assert_array_equal(data.X, GOOD)
    np.testing.assert_array_equal(data.y, [3.0, 6.0])


@pytest.mark.parametrize(
    "text",
    [
        "a,b,y,\n1,2,3,\n4,5,6,\n",
        "a;b;y;\n1;2;3;\n4;5;6;\n",
        "a,b,y\n1,2,3,\n4,5,6,\n",
        "a,b,y,\n1,2,3\n4,5,6\n",
        "a,b,y,,\n1,2,3,,\n4,5,6,,\n",
        "1,2,3,\n4,5,6,\n",
    ],
)
def test_a_separator_at_the_end_of_lines_makes_no_column(tmp_path, capsys, text):
    data = read_data(write(tmp_path, text))
    np.testing.assert_array_equal(data.X, GOOD)
    np.testing.assert_array_equal(data.y, [3.0, 6.0])
    out, err = capsys.readouterr()
    assert out == "" and "data.csv: lines end with a separator" in err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,y\n1,2,\n4,5,\n", "line 2: 'y' is missing (and 1 more cell)"),
        ("a,b,y\n1,2,\n4,5,6\n", "line 2: 'y' is missing"),
        ("a,b,y,\n1,2,,\n4,5,6,\n", "line 2: 'y' is missing"),
        ("a,b,\n1,2,\n4,5,6\n", "line 2: 'column 3' is missing"),
        ("1,2,3\n4,5,\n", "line 2: 'column 3' is missing"),
    ],
)
def test_a_last_value_that_is_missing_is_not_taken_for_a_separator(tmp_path, capsys, text, words):
    with pytest.raises(InputError) as caught:
        read_data(write(tmp_path, text))
    named = not text.startswith("a,b,y,")
    assert words in str(caught.value) and (capsys.readouterr().err == "") == named


def test_columns_are_chosen_by_name_or_number(tmp_path):
    file = write(tmp_path, 'y,"a, b",when,c\n3,1,2024-01-01,2\n6,4,2024-01-02,5\n')
    data = read_data(file, target="y", drop=["when"])
    np.testing.assert_array_equal(data.X, GOOD)
    np.testing.assert_array_equal(data.y, [3.0, 6.0])
    np.testing.assert_array_equal(read_data(file, "y", ["a, b", "when"]).X, GOOD[:, 1:])
    np.testing.assert_array_equal(read_data(file, "y", ["when,c"]).X, GOOD[:, :1])
    np.testing.assert_array_equal(read_data(file, drop=["when", "y"]).y, [2.0, 5.0])
    bare = write(tmp_path, "3,1,2\n6,4,5\n")
    np.testing.assert_array_equal(read_data(bare, target="1").X, GOOD)
    np.testing.assert_array_equal(read_data(bare, target="1", drop=["3"]).X, GOOD[:, :1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,city,y\n1,2,3\n4,Lyon,6\n", "line 3, column 'city': 'Lyon' is not a number"),
        ("a,city,y\n1,Nice,3\n4,Lyon,6\n", "--drop 'city' leaves the column out"),
        ("a,b,y\n1,2,3\n,5,6\n", "line 3: 'a' is missing"),
        ("a,b,y\n1,2,3\nNA,5,6\n7,nan,9\n", "line 3: 'a' is missing (and 1 more cell)"),
        ('"a\nb",c,y\n1,2,3\n4,,6\n', "line 4: 'c' is missing"),
        ("a,b,y\n1,2,3\n4,inf,6\n", "line 3, column 'b': 'inf' is not finite"),
        ("a,b,y\n1,2,3\n4,1_000,6\n", "'1_000' is not a number"),
        ('a;b;y\n"1,5";2;3\n', "'1,5' is not a number; decimals need a point"),
        ("a,b,y\n1,=2+3,3\n", "'=2+3' is not a number"),
        ("a,b,y\n1,@SUM(A1),3\n", "'@SUM(A1)' is not a number"),
        ("a,b,y\n1,__import__('os').getcwd(),3\n", "is not a number"),
        ("a,when,y\n1,2024-01-01T00:00:00Z,3\n", "column 'when': '2024-01-01T00:00:00Z'"),
        ("a,b,y\n1,2,no\n4,5,yes\n7,8,no\n", "--labels no,yes makes them −1 and +1"),
        ("a,b,y\n1,2,no\n4,5,yes\n7,8,so\n", "--target names the column of labels"),
        ("a,b,y\n1,2\n", "line 2 has 2 fields, the first one 3"),
        ("a,b,y\n1,2,3,4\n", "line 2 has 4 fields, the first one 3"),
        ("1,b,3\n1,2,3\n", "a header has no numbers"),
        ("1,,3\n1,2,3\n", "line 1: 'column 2' is missing"),
        ("a,b,y\n", "needs at least one row"),
        ("y\n1\n", "one column of inputs"),
        ("", "needs at least one row"),
        ("a,b,y\n1,2," + "x" * 500 + "\n", "…'"),
    ],
)
def test_what_is_no_number_is_named_by_line_and_column(tmp_path, text, words):
    with pytest.raises(InputError) as caught:
        read_data(write(tmp_path, text))
    assert words in str(caught.value) and len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "z"}, "no column named 'z'"),
        ({"target": "a"}, "2 columns are named 'a'"),
        ({"target": "y", "drop": ["y"]}, "both name the column 'y'"),
        ({"drop": ["Y"]}, "no column named 'Y'; known: a, a, y"),
        ({"drop": ["a", "y"]}, "one column of inputs"),
        ({"labels": "0"}, "expected two names"),
        ({"labels": "0,0"}, "different names"),
        ({"labels": "0=-1,1=2"}, "expected NAME=-1 or NAME=+1"),
        ({"labels": "0=1,1=1"}, "different names"),
        ({"labels": "0,1"}, "line 3, column 'y': '6' is none of '0', '1'"),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path, options, words):
    file = write(tmp_path, "a,a,y\n1,2,0\n4,5,6\n")
    with pytest.raises(InputError) as caught:
        read_data(file, **options)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (("0", "1"), "0,1"),
        (("0.0", "1.0"), "0,1"),
        (("no", "yes"), "no,yes"),
        (("no", "yes"), "yes=+1, no=-1"),
        (("n=o", "yes"), "n=o=−1,yes=1"),
        (("", "yes"), "=-1,yes=+1"),
    ],
)
def test_labels_are_mapped_on_request(tmp_path, column, labels):
    text = "a,b,y\n" + "".join(f"1,2,{value}\n" for value in column)
    if labels.startswith("="):
        with pytest.raises(InputError, match="expected NAME"):
            read_data(write(tmp_path, text), labels=labels)
        return
    np.testing.assert_array_equal(read_data(write(tmp_path, text), labels=labels).y, [-1, 1])


def test_words_may_be_labels_in_a_file_without_a_header(tmp_path):
    file = write(tmp_path, "1,2,no\n4,5,yes\n")
    np.testing.assert_array_equal(read_data(file, labels="no,yes").y, [-1, 1])


def test_arrays_have_labels_but_no_columns(tmp_path):
    file = tmp_path / "data.npz"
    np.savez(file, X=np.eye(2), y=np.array(["cat", "dog"]))
    np.testing.assert_array_equal(read_data(file, labels="cat,dog").y, [-1, 1])
    with pytest.raises(InputError, match=r"y\[0\] is cat, none of"):
        read_data(file, labels="cow,dog")
    with pytest.raises(InputError, match="--target, --drop"):
        read_data(file, target="y")


def test_signs_of_more_than_two_labels():
    assert signs_of("a=-1,b=-1,c=+1") == {"a": -1.0, "b": -1.0, "c": 1.0}


def test_bytes_that_are_no_text_are_refused(tmp_path):
    with pytest.raises(InputError, match="UTF-8"):
        read_data(write(tmp_path, "a,é,y\n1,2,3\n", "latin-1"))


def test_a_hundred_thousand_rows_are_read_in_seconds(tmp_path):
    rows = 100_000
    table = np.random.default_rng(0).normal(size=(rows, 4)).round(6)
    text = "a,b,c,y\n" + "\n".join(",".join(map(str, row)) for row in table.tolist()) + "\n"
    file = write(tmp_path, text)
    begun = time.process_time()
    data = read_data(file)
    assert time.process_time() - begun < 5  # half a second on a quiet core
    np.testing.assert_array_equal(data.X, table[:, :3])
