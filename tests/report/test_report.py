import dataclasses
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

import stub_science
from biasflow import theory
from biasflow.errors import UnknownNameError
from biasflow.experiments.experiment import Reading, Reported
from biasflow.report import ClaimEntry, Number, check_claim, make_figure, reproduce
from biasflow.report.entries import PAPERS, FigureEntry
from biasflow.report.making import DEAR, example_keys
from biasflow.report.numbers import counted, numbers_page
from biasflow.report.side_by_side import settle_pictures
from biasflow.sweeps import Processes, Serial, Store
from biasflow.sweeps.grids import Grid
from biasflow.sweeps.kept import Kept
from biasflow.theory import Check, Verdict

PNG_SIGNATURE = b"\x89PNG"
VOID = {"meta", "img", "br", "input"}


class Balanced(HTMLParser):
    """Collects tags and what they refer to, and fails on a tag closed out of order."""

    def __init__(self):
        super().__init__()
        self.open, self.references, self.text, self.anchors = [], [], [], set()

    def handle_starttag(self, tag, attrs):
        self.references += [value for name, value in attrs if name in ("src", "href")]
        self.anchors |= {value for name, value in attrs if name == "id"}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(autouse=True)
def stubs(monkeypatch):
    stub_science.install(monkeypatch)


def read_page(folder):
    source = (folder / "index.html").read_text(encoding="utf-8")
    page = Balanced()
    page.feed(source)
    assert page.open == []
    return page, " ".join(" ".join(page.text).split()), source


def test_the_page_holds_figures_numbers_and_claims(tmp_path):
    report = reproduce(tmp_path, "quick", Store(tmp_path / "store"))
    _, text, source = read_page(tmp_path)
    assert "Kernel and rich regimes" in text and "Non-linear parameterizations" in text
    assert "Error against time & scale <α>" in text
    assert "preset quick" in text and "scale: 0.1, 10 " in text and "n = 5" in text
    assert "β∞ minimises Q_α & interpolates" in text and "X has full row rank" in text
    assert "distance <to the limit>" in text and "1e-09 ≤ 1e-06" in text
    assert all(f"1 claim {status}" in text for status in ("holds", "inconclusive", "violated"))
    assert "1/3 of the papers' numbers agree with ours, 1 differ, 1 are not comparable" in text
    assert "10.5 ± 0.05 printed to 3 digits 10.55" in text and "Figure 1 & text" in text
    assert "8 exact 26 differs Figure 1 ours is <larger>" in text and "of another thing" in text
    assert 'alt="W/fig1: Error falls with &lt;time&gt;."' in source
    assert "biasflow reproduce --preset quick" in text and report.environment["code"] in text
    assert 'badge violated"' in source and not report.sound


def test_the_page_refers_to_nothing_outside_itself(tmp_path):
    reproduce(tmp_path, "quick")
    page, _, source = read_page(tmp_path)
    assert page.references and all(
        ref.startswith(("#", "data:image/png;base64,")) for ref in page.references
    )
    assert {ref[1:] for ref in page.references if ref.startswith("#")} <= page.anchors
    assert not re.search(r"https?://|@import|url\(|<script|<link", source)
    assert "$" not in source


def test_only_papers_with_content_are_shown(tmp_path):
    reproduce(tmp_path, "quick")
    page, text, _ = read_page(tmp_path)
    assert {"W", "R"} <= page.anchors and not {"B", "C"} & page.anchors
    assert "Chizat" not in text


def test_images_are_written_beside_the_page(tmp_path):
    reproduce(tmp_path, "quick")
    assert (tmp_path / "figures" / "W-fig1.png").read_bytes().startswith(PNG_SIGNATURE)


def moving(summary):
    """A dot on its way."""
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 1))
    (dot,) = figure.subplots().plot([0], [0], "o")
    return FuncAnimation(figure, lambda k: dot.set_data([k / 100], [0]) or [dot], frames=3)


@pytest.fixture
def animated(monkeypatch):
    monkeypatch.setattr(
        stub_science, "EXPERIMENT", dataclasses.replace(stub_science.EXPERIMENT, animate=moving)
    )


def test_animations_are_on_the_page_and_beside_it(tmp_path, animated):
    report = reproduce(tmp_path, "quick")
    page, text, source = read_page(tmp_path)
    assert any(ref.startswith("data:image/gif;base64,") for ref in page.references)
    assert "animation" in text and 'loading="lazy"' in source
    content = (tmp_path / "figures" / "W-fig1.gif").read_bytes()
    assert content == report.figures[0].movie
    with Image.open(io.BytesIO(content)) as movie:
        assert movie.format == "GIF" and movie.n_frames == 3 and movie.info["loop"] == 0


def test_still_figures_have_no_animation(tmp_path):
    report = reproduce(tmp_path, "quick")
    _, text, _ = read_page(tmp_path)
    assert report.figures[0].movie == b"" and "animation" not in text
    assert not list((tmp_path / "figures").glob("*.gif"))


def test_an_animation_that_fails_is_on_the_page_with_its_reason(tmp_path, monkeypatch):
    def broken(summary):
        raise ZeroDivisionError("no frames")

    monkeypatch.setattr(
        stub_science, "EXPERIMENT", dataclasses.replace(stub_science.EXPERIMENT, animate=broken)
    )
    assert "no frames" in reproduce(tmp_path, "quick").figures[0].failure


def test_a_rerun_computes_nothing_and_shows_the_same(tmp_path):
    store = Store(tmp_path / "store")
    first = reproduce(tmp_path, "quick", store)
    assert len(stub_science.CALLS) == 4 + 2 * 3
    second = reproduce(tmp_path, "quick", store)
    assert len(stub_science.CALLS) == 4 + 2 * 3
    assert [entry.status for entry in first.claims] == [entry.status for entry in second.claims]
    assert first.numbers == second.numbers and first.figures[0].seconds == second.figures[0].seconds
    assert first.figures[0].image == second.figures[0].image


@pytest.mark.parametrize(
    "only, figures, claims", [("W/fig1", 1, 0), ("R/eq3", 0, 1), ("R", 0, 2), ("W", 1, 1)]
)
def test_only_chooses_an_id_or_a_paper(tmp_path, only, figures, claims):
    report = reproduce(tmp_path, "quick", only=only)
    assert (len(report.figures), len(report.claims)) == (figures, claims)
    assert f"--only {only}" in report.command


def test_only_with_an_unknown_name_suggests_a_near_one(tmp_path):
    with pytest.raises(UnknownNameError, match="W/fig1"):
        reproduce(tmp_path, "quick", only="W/fig11")


def test_after_an_interrupt_the_page_holds_what_is_finished(tmp_path):
    def interrupt(done, total, label):
        if label == "claims" and done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(tmp_path, "quick", Store(tmp_path / "store"), interrupt)
    page, text, _ = read_page(tmp_path)
    assert (
        "Interrupted" in text
        and {"W-fig1", "W-thm1", "R-eq3"} <= page.anchors
        and "R-sharp" not in page.anchors
    )


def test_what_fails_is_on_the_page_with_its_reason(tmp_path, monkeypatch):
    def broken(id, problem=None, key=0, time_s=None):
        raise ZeroDivisionError("a <zero>")

    monkeypatch.setattr(stub_science.theory, "verify", broken)
    monkeypatch.setattr(stub_science.experiments, "figure", broken)
    report = reproduce(tmp_path, "quick")
    _, text, _ = read_page(tmp_path)
    assert text.count("ZeroDivisionError: a <zero>") == 3 and "3 claims failed to run" in text
    assert not report.sound and not report.figures[0].image


def test_progress_carries_the_id_of_the_figure():
    told = []
    make_figure("W/fig1", "quick", progress=lambda *news: told.append(news))
    assert told[-1] == (4, 4, "W/fig1")


def test_stored_verdicts_equal_fresh_ones(tmp_path):
    fresh = check_claim("R/eq3", (0, 1), Store(tmp_path))
    stored = check_claim("R/eq3", (0, 1), Store(tmp_path))
    assert len(stub_science.CALLS) == 2
    assert {k: v.checks for k, v in stored.verdicts.items()} == {
        k: v.checks for k, v in fresh.verdicts.items()
    }
    assert all(v.status == "inconclusive" for v in stored.verdicts.values())


def test_the_row_of_a_quantity_is_its_worst_example():
    claim = stub_science.CLAIMS[0]
    easy, tight, broken = (Check("gap", measured, "<=", 1.0) for measured in (0.1, 0.9, 1.5))
    by_key = {key: Verdict(claim, (), (check,)) for key, check in enumerate((easy, tight))}
    assert ClaimEntry(claim, by_key).tightest() == [(1, tight)]
    worse = ClaimEntry(claim, {**by_key, 2: Verdict(claim, (), (broken,))})
    assert worse.tightest() == [(2, broken)] and worse.status == "violated"


def test_a_spoiled_hypothesis_is_marked_with_its_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(
        stub_science.theory,
        "verify",
        lambda id, problem=None, key=0, time_s=None: stub_science.verify(id, "spoiled", key),
    )
    reproduce(tmp_path, "quick", only="W/thm1")
    _, text, _ = read_page(tmp_path)
    assert "✗ X has full row rank" in text and "rank 1 of 2" in text and "hypotheses fail" in text


def compared(reading, runs, kind=1, relation="==", error=0.0, **words):
    reported = Reported("n", reading, "somewhere", kind, relation, **words)
    return Number(reported, float(np.median(runs)), tuple(runs), error).agreement


def test_readings_are_as_good_as_they_are_printed():
    assert Reading.printed("6.2e-2") == Reading(0.062, pytest.approx(0.0005), "printed to 2 digits")
    assert Reading.printed("0.13").within == pytest.approx(0.005) and Reading.printed(
        "4.0e5"
    ).within == pytest.approx(5e3)
    assert Reading.printed("3e-1") == Reading(0.3, pytest.approx(0.05), "printed to 1 digit")
    assert Reading.rounded(5000, 1000).within == 500 and Reading.plot(
        0, 180
    ).within == pytest.approx(1.8)


def test_a_further_run_agrees_as_often_as_it_should():
    """Of 2000 papers whose run is drawn like ours, 95% agree (4 standard errors: 2%); of others,
    ten deviations off, none."""
    rng = np.random.default_rng(0)
    draws = rng.normal(5, 1, (2000, 9))
    agree = [compared(Reading.exact(float(own)), runs) == "agrees" for own, *runs in draws]
    assert np.mean(agree) == pytest.approx(0.95, abs=0.02)
    positive = [
        compared(Reading.exact(float(np.exp(own))), np.exp(runs)) == "agrees"
        for own, *runs in draws
    ]
    assert np.mean(positive) == pytest.approx(0.95, abs=0.02)
    assert compared(Reading.exact(15.0), draws[0, 1:]) == "differs"


def test_the_mean_of_many_runs_is_looked_for_more_narrowly():
    runs = (0.9, 1.0, 1.1, 1.0)
    assert (
        compared(Reading.exact(1.2), runs, 1) == "agrees"
        and compared(Reading.exact(1.2), runs, 100) == "differs"
    )


def test_reading_and_error_widen():
    assert (
        compared(Reading(2.0, 0.5, ""), (1.5, 1.5)) == "agrees"
        and compared(Reading(2.0, 0.4, ""), (1.5, 1.5)) == "differs"
    )
    assert compared(Reading(2.0, 0.4, ""), (1.5, 1.5), error=0.2) == "agrees"


def test_what_is_said_of_every_run_must_be_met_by_every_run():
    zero = Reading.plot(0.0, 1.0)
    assert (
        compared(zero, (0.0, 0.01), None) == "agrees"
        and compared(zero, (0.0, 0.02), None) == "differs"
    )
    assert (
        compared(zero, (0.0, float("nan")), None) == "differs"
        and compared(zero, (0.0, 0.02), None, error=0.02) == "agrees"
    )
    assert (
        compared(Reading.exact(1.0), (0.2, 0.9), None, "<=")
        == "agrees"
        == compared(Reading.exact(0.1), (0.2,), None, ">=")
    )
    assert (
        compared(Reading.exact(1.0), (0.2, 1.1), None, "<=")
        == "differs"
        == compared(Reading.exact(1.0), (0.2,), None, ">=")
    )


def test_one_run_agrees_within_its_reading_or_cannot_be_compared():
    assert (
        compared(Reading(1.0, 0.1, ""), (1.05,)) == "agrees"
        and compared(Reading(1.0, 0.1, ""), (1.2,)) == "not comparable"
    )
    assert compared(Reading.exact(1.0), (1.0, 1.0), incomparable="no number") == "not comparable"


def test_the_page_grows_and_says_what_is_still_to_come(tmp_path):
    """From the first moment on, and no longer when all is there."""
    seen = []

    def look(done, total, label):
        _, text, source = read_page(tmp_path)
        seen.append((label, done, text, "location.reload" in source))

    reproduce(tmp_path, "quick", progress=look)
    (_, _, first, refreshed), *_ = seen
    assert "Still to come: W/fig1, 1 claim of W, 2 claims of R." in first and refreshed
    (drawn,) = [text for label, done, text, _ in seen if label == "claims" and done == 0]
    assert "1/1 figures drawn" in drawn and "Still to come: 1 claim of W, 2 claims of R." in drawn
    _, text, source = read_page(tmp_path)
    assert "Still to come" not in text and "<script" not in source
    assert not list(tmp_path.glob(".index*"))


def test_papers_that_need_no_kernels_come_first_but_keep_their_place(tmp_path, monkeypatch):
    ids = ("B/x", "W/x", "R/x")
    claims = [dataclasses.replace(c, id=id) for c, id in zip(stub_science.CLAIMS, ids, strict=True)]
    stub_science.install(monkeypatch, claims)
    monkeypatch.setattr(stub_science, "CLAIMS", claims)
    report = reproduce(tmp_path, "quick")
    asked = [call.split()[1] for call in stub_science.CALLS if call.startswith("verify")]
    assert asked[-2:] == ["B/x"] * 2 and "B/x" not in asked[:-2]
    order = [paper.tag for paper in PAPERS if paper.tag in "WRB"]
    assert [entry.id for entry in report.claims] == [f"{tag}/x" for tag in order]


def test_figures_of_few_points_come_first(tmp_path, monkeypatch):
    """Behind them those that need kernels; on the page each has its place."""
    sizes = {"B/a": 1, "W/a": 3, "W/b": 1, "R/a": 2}
    figures = {
        id: dataclasses.replace(
            stub_science.EXPERIMENT, id=id, grids={"quick": Grid({"seed": range(size)})}
        )
        for id, size in sizes.items()
    }
    drawn = []
    monkeypatch.setattr(stub_science.experiments, "figures", lambda: tuple(figures))
    monkeypatch.setattr(stub_science.experiments, "experiment", figures.__getitem__)
    monkeypatch.setattr(
        "biasflow.report.reproduction.make_figure",
        lambda id, preset, *_: drawn.append(id) or FigureEntry(figures[id], preset, failure="no"),
    )
    report = reproduce(tmp_path, "quick")
    assert drawn == ["W/b", "R/a", "W/a", "B/a"]
    assert [figure.id for figure in report.figures] == ["W/a", "W/b", "R/a", "B/a"]


def test_dear_claims_have_one_example_on_a_quick_page(monkeypatch):
    monkeypatch.undo()
    assert set(DEAR) <= set(theory.claims())
    found = {
        (id in DEAR, preset): len(example_keys(id, preset))
        for id in theory.claims()
        for preset in ("quick", "paper")
    }
    assert found == {
        (True, "quick"): 1,
        (False, "quick"): 2,
        (True, "paper"): 3,
        (False, "paper"): 3,
    }


def test_verdicts_of_other_processes_are_those_of_this_one(tmp_path, monkeypatch):
    """Of claims that another process finds; the stubs of these tests are judged here."""
    monkeypatch.undo()
    here = reproduce(tmp_path / "here", "quick", Store(tmp_path / "a"), only="R/lem5.1")
    engine = Processes(2)
    there = reproduce(tmp_path / "there", "quick", Store(tmp_path / "b"), None, "R/lem5.1", engine)
    (mine,), (theirs,) = here.claims, there.claims
    assert theirs.failure is None and len(theirs.verdicts) == len(example_keys("R/lem5.1", "quick"))
    assert {k: v.checks for k, v in mine.verdicts.items()} == {
        k: v.checks for k, v in theirs.verdicts.items()
    }


def test_figures_drawn_beside_sweeps_are_those_of_this_process(tmp_path, monkeypatch):
    """Also from the store, and with what they cost at the end of the page."""
    monkeypatch.undo()
    one = reproduce(tmp_path / "one", "quick", only="R/fig4")
    store, made = Store(tmp_path / "store"), []
    monkeypatch.setattr(
        "biasflow.report.side_by_side.settle_pictures",
        lambda **setting: made.append(setting["id"]) or settle_pictures(**setting),
    )
    for _ in range(2):
        with Kept(Serial()) as engine:
            two = reproduce(tmp_path / "two", "quick", store, None, "R/fig4", engine)
        assert two.figures[0].image == one.figures[0].image
        assert two.figures[0].numbers == one.figures[0].numbers
        _, text, _ = read_page(tmp_path / "two")
        assert "What it cost" in text and text.endswith("100%")
    assert made == ["R/fig4"] and (tmp_path / "two" / "figures" / "R-fig4.png").exists()


def test_numbers_that_something_was_chosen_to_fit_are_counted_apart():
    open_, chosen = (
        Number(Reported(name, Reading.exact(2.0), "Figure 1", chosen=words), 2.0, (2.0, 2.1))
        for name, words in (("width", ""), ("error", "n is not stated; 10 fits."))
    )
    assert counted([open_]).startswith("Of 1 comparisons with the papers' numbers 1 agree, 0")
    said = "Of 2 comparisons with the papers' numbers 2 agree (1 as they are, 1 with something "
    assert counted([open_, chosen]).startswith(said)
    page = numbers_page({"W/fig1": [open_, chosen]}, "biasflow numbers")
    assert "Figure 1. n is not stated; 10 fits. |" in page
