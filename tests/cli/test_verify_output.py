"""What `biasflow verify` and `biasflow explain` print about a user's data: lines, numbers, advice,
JSON and JUnit."""

import dataclasses
import json
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import biasflow as bf
import stub_science
from biasflow import theory
from biasflow.cli import main
from biasflow.cli.data_numbers import numbers_of
from biasflow.cli.data_problems import advice, problem_on
from biasflow.cli.verdict_output import verdict_line
from biasflow.errors import InputError

SQUARE_CORNERS = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])


@pytest.fixture
def cli(monkeypatch, capsys, tmp_path):
    """Runs a command in this process; (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BIASFLOW_CACHE", str(tmp_path / "cache"))

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["biasflow", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        out, err = capsys.readouterr()
        return caught.value.code or 0, out, err

    return run


@pytest.fixture
def stubs(monkeypatch):
    stub_science.install(monkeypatch)


def write(path, rows, header="a,b,y"):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")


def wide(path):
    rng = np.random.default_rng(0)
    write(path, rng.normal(size=(3, 7)).round(3), "a,b,c,d,e,f,y")


def test_one_line_has_id_status_title_and_the_tightest_number(stubs):
    line = verdict_line(theory.verify("R/sharp"))
    assert line.startswith("R/sharp         violated         Sharper rates")
    assert line.endswith("(ratio: 2 ≤ 1)")
    assert verdict_line(theory.verify("W/thm1")).endswith(
        "(distance <to the limit>: 1e-09 ≤ 1e-06; not informative here)"
    )


def test_a_number_that_refers_to_another_is_passed_over():
    checks = (
        theory.Check("distance", 1e-9, "==", 0.0, 1e-8, witness="a"),
        theory.Check("the same, elsewhere", 0.5, "<=", 1.0, witness="a"),
    )
    verdict = theory.Verdict(stub_science.CLAIMS[0], (), checks)
    assert verdict_line(verdict).endswith("(distance: 1e-09 = 0 ± 1e-08)")


def test_hypotheses_that_fail_alike_share_a_line(stubs, cli, tmp_path, monkeypatch):
    def failing(id, problem=None, key=0, time_s=None):
        claim = stub_science.claim(id)
        return theory.Verdict(claim, ((claim.hypotheses[0], "rank 1 of 2"),), ())

    monkeypatch.setattr(theory, "verify", failing)
    wide(tmp_path / "mine.csv")
    code, out, _ = cli("verify", "--data", "mine.csv")
    assert code == 0 and "hypotheses fail: rank 1 of 2: W/thm1, R/eq3, R/sharp" in out
    assert out.count("rank 1 of 2") == 1
    assert cli("verify", "--all", "--data", "mine.csv")[1].count("rank 1 of 2") == 3


def test_json_is_all_that_is_printed(stubs, cli, tmp_path):
    wide(tmp_path / "mine.csv")
    code, out, _ = cli("verify", "--data", "mine.csv", "--json")
    found = json.loads(out)
    assert code == 1 and found["file"] == "mine.csv" and found["network"] == "diagonal"
    assert [claim["id"] for claim in found["claims"]] == ["W/thm1", "R/eq3", "R/sharp"]
    assert found["counts"] == {"holds": 1, "inconclusive": 1, "violated": 1}
    assert found["claims"][0]["checks"][0]["measured"] == 1e-9
    assert found["numbers"]["‖β‖₁ at the end of the flow"]["value"] > 0
    examples = json.loads(cli("verify", "W/thm1", "--keys", "2", "--json")[1])
    assert [claim["case"] for claim in examples["claims"]] == [
        "W/thm1 [example 0]",
        "W/thm1 [example 1]",
    ]


def test_json_has_null_for_what_is_not_finite(stubs, cli, monkeypatch):
    unknown = (theory.Check("gap", np.nan, "<=", np.inf, reason="no time"),)
    broken = dataclasses.replace(stub_science.CLAIMS[0], check=lambda evidence: unknown)
    monkeypatch.setattr(stub_science, "CLAIMS", (broken,))
    stub_science.install(monkeypatch, (broken,))
    check = json.loads(cli("verify", "W/thm1", "--keys", "1", "--json")[1])["claims"][0]["checks"][
        0
    ]
    assert check["measured"] is None and check["bound"] is None and check["why"] == "no time"


def test_junit_has_a_case_for_each_verdict(stubs, cli, tmp_path):
    wide(tmp_path / "mine.csv")
    assert cli("verify", "--data", "mine.csv", "--junit", "report.xml")[0] == 1
    suite = ElementTree.parse(tmp_path / "report.xml").getroot()
    assert suite.attrib | {"name": "biasflow"} == {
        "name": "biasflow",
        "tests": "3",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
    }
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases == {"W/thm1": [], "R/eq3": ["skipped"], "R/sharp": ["failure"]}
    code, _, err = cli("verify", "--junit", "nowhere/report.xml")
    assert code == 2 and "nowhere does not exist" in err


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ((0, 1, 1, 0), "labels are 0 and 1, a margin is about −1 and +1; --labels 0,1 maps them"),
        ((1, 1, 1, 1), None),
        ((2, 2, 2, 2), "all labels are 2"),
        ((1, 2, 3, 4), "labels have 4 different values"),
        ((1, -1, 1, -1), None),
    ],
)
def test_a_margin_needs_signs(labels, words):
    data = bf.Dataset(SQUARE_CORNERS, np.array(labels, dtype=float))
    if words is None:
        problem_on(data, "margin", 0.1, 2, 5)
        return
    with pytest.raises(InputError) as caught:
        problem_on(data, "margin", 0.1, 2, 5)
    assert words in str(caught.value)


def test_labels_zero_and_one_stop_a_margin_at_once(cli, tmp_path):
    write(tmp_path / "mine.csv", [(1, 2, 0), (3, 4, 1)])
    code, out, err = cli("verify", "--data", "mine.csv", "--network", "margin")
    assert code == 2 and out == "" and "--labels 0,1 maps them" in err
    code, _, err = cli("verify", "W/thm1", "--labels", "0,1")
    assert code == 2 and "give --data too" in err


def test_advice_depends_on_the_labels():
    def with_labels(*labels):
        return bf.Dataset(np.eye(len(labels)), np.array(labels, dtype=float))

    assert "`--network margin`" in advice(with_labels(1, -1), "diagonal")
    assert "`--labels 0,1 --network margin`" in advice(with_labels(0, 1), "relu")
    assert advice(with_labels(1, -1), "margin") is None
    assert advice(with_labels(1.5, -1), "diagonal") is None


def test_the_numbers_of_a_margin_are_the_margins():
    data = bf.Dataset(SQUARE_CORNERS, np.array([1.0, 1.0, -1.0, -1.0]))
    shape, first, second = numbers_of(problem_on(data, "margin", 0.1, 2, 5), data, "margin")
    assert "n = 4, d = 2, X has rank 2" in str(shape)
    assert first.value == pytest.approx(bf.max_margin(data, norm="f1").objective, rel=1e-6)
    assert second.value == pytest.approx(bf.max_margin(data, norm="f2").objective, rel=1e-6)
    assert str(first).startswith("γ₁, the largest margin, both layers trained: 0.")


def test_one_claim_about_margins_has_them_in_front(cli, tmp_path):
    write(tmp_path / "mine.csv", zip(*SQUARE_CORNERS.T, (1, 1, -1, -1), strict=True))
    given = ("--data", "mine.csv", "--network", "margin")
    code, out, _ = cli("verify", "C/A2", *given)
    gamma = bf.max_margin(SQUARE_CORNERS, [1, 1, -1, -1], norm="f1").objective
    assert code == 0 and f"γ₁, the largest margin, both layers trained: {gamma:.6g}" in out
    assert out.index("γ₁") < out.index("C/A2: ")
    numbers = json.loads(cli("verify", "C/A2", *given, "--json")[1])["numbers"]
    assert [name[:2] for name in numbers] == ["sa", "γ₁", "γ₂"]
    assert "γ₁" not in cli("verify", "W/lem1", *given)[1]


def test_the_transition_is_between_the_ends():
    data = bf.data.sparse_regression(n=4, d=9, sparsity=1, noise_var=0.0, key=1)
    found = {
        f.name: f for f in numbers_of(problem_on(data, "diagonal", 0.1, 2, 0), data, "diagonal")
    }
    alpha = found["transition from rich to kernel, at α"].value
    least, most = (np.sum(np.abs(bf.min_norm(data, norm=norm).value)) for norm in ("l1", "l2"))
    for factor, side in ((0.9, -1), (1.1, 1)):
        beta = bf.limit(bf.DiagonalNetwork(2), data, scale=alpha * factor).value
        assert side * (np.sum(np.abs(beta)) - (least + most) / 2) > 0
    assert found["least ℓ1 norm of an interpolator"].value == pytest.approx(least)


def test_data_that_nothing_fits_say_so():
    data = bf.Dataset(np.array([[1.0], [1.0]]), np.array([0.0, 1.0]))
    found = numbers_of(problem_on(data, "diagonal", 0.1, 2, 0), data, "diagonal")
    assert found[1].value is None and "no β solves Xβ = y" in found[1].words
    both = bf.Dataset(np.array([[1.0], [1.0]]), np.array([-1.0, 1.0]))
    margins = numbers_of(problem_on(both, "margin", 0.1, 2, 3), both, "margin")
    assert len(margins) == 3


@pytest.mark.parametrize("network", ["relu", "directions"])
def test_other_networks_have_numbers_too(network):
    data = bf.Dataset(np.eye(2), np.array([1.0, -2.0]))
    found = numbers_of(problem_on(data, network, 0.1, 2, 8), data, network)
    assert len(found) >= 2 and all(f.value is not None for f in found[1:])


def test_explain_prints_what_it_says_about_the_data(cli, tmp_path):
    wide(tmp_path / "mine.csv")
    code, out, _ = cli("explain", "W/thm2", "--data", "mine.csv", "--scale", "20")
    assert code == 0 and "n = 3, d = 6, X has rank 3" in out and "On this problem" in out
    assert "threshold: holds" in out and "verdict: holds" in out
    code, out, _ = cli("explain", "W/thm2", "--markdown")
    assert code == 0 and out.startswith("# `W/thm2`: Small starts end near")
    code, _, err = cli("explain", "W/thm22")
    assert code == 2 and "did you mean" in err
