"""The thresholds of the verdict: positions that are known, how verdicts are counted, and that the
thresholds in use are those that the calibration allows."""

import numpy as np
import pytest

from biasflow.regime import calibration
from biasflow.regime.calibration import Known, chosen, diagonal_runs, rates
from biasflow.regime.measures import Estimate
from biasflow.regime.probing import KERNEL_BELOW, RICH_ABOVE


def known(gap, position, error=0.0):
    same = Estimate(gap, error)
    names = ("linear_gap", "kernel_movement", "gradient_distance", "kernel_turn")
    return Known("made up", 1.0, 0, position, dict.fromkeys(names, same))


def test_positions_of_diagonal_networks_are_those_of_their_limits():
    kernel, rich = diagonal_runs("diagonal", [100.0, 1e-8], [3], 10, 24, 2)
    assert kernel.position < 1e-3 and rich.position == pytest.approx(1, abs=0.1)
    assert kernel.final["linear_gap"].value < 0.01 < 0.9 < rich.final["linear_gap"].value


def test_verdicts_are_counted_where_they_are_wrong():
    runs = [known(0.01, 0.0), known(0.01, 0.9), known(0.9, 0.9), known(0.9, 0.2), known(0.3, 0.4)]
    found = rates(runs)
    assert (found.wrong_kernel, found.kernel, found.wrong_rich, found.rich) == (1, 2, 1, 2)
    assert found.wrong == 0.5 and found.abstained == pytest.approx(0.2)
    assert found.on_the_way == 1 and rates([known(0.9, 0.4)]).on_the_way == 1
    assert rates([known(0.09, 0.0, 0.1)]).abstained == 1  # by two errors, or not at all


def test_the_choice_allows_few_errors_only():
    good = [known(gap, 0.1) for gap in (0.01, 0.04, 0.12)] + [
        known(gap, 1.0) for gap in (0.45, 0.9)
    ]
    assert chosen(good) == (0.3, 0.2)
    spoiled = [*good, *(known(0.11, 0.8) for _ in range(3)), *(known(0.55, 0.2) for _ in range(3))]
    assert chosen(spoiled) == (0.1, 0.6)


def test_the_command_prints_rates_and_draws(monkeypatch, tmp_path, capsys):
    runs = diagonal_runs("diagonal", np.geomspace(1e-4, 30, 6).tolist(), [0], 10, 24, 2)
    monkeypatch.setattr(calibration, "calibration_runs", lambda few: runs)
    monkeypatch.setattr(calibration, "held_out_runs", lambda few: runs)
    calibration.main(["--few", "--picture", str(tmp_path / "picture.png")])
    text = capsys.readouterr().out
    assert f"In use: kernel below {KERNEL_BELOW:g}, rich above {RICH_ABOVE:g}." in text
    assert "held out, all:" in text and (tmp_path / "picture.png").stat().st_size > 0
