"""The store's key: what a result rests on, and nothing else."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from biasflow.experiments import EXPERIMENTS, experiment
from biasflow.sweeps import closures, versions
from biasflow.sweeps.closures import Import, closure, tree_hash
from biasflow.theory.verification import CLAIMS, roots_of_claim

BEFORE = b'''"""Doc."""
import numpy as np
X = 1  # why
"""What X is."""


def f(x):
    """Doc."""
    return np.sin(x) + X
'''


def test_comments_docstrings_and_layout_do_not_count_but_code_does():
    same = b"import numpy as np\nX = 1\ndef f(x):\n    return (np.sin(x)\n            + X)\n"
    assert tree_hash(BEFORE) == tree_hash(same)
    assert tree_hash(BEFORE) != tree_hash(BEFORE.replace(b"X = 1", b"X = 2"))
    assert tree_hash(BEFORE) != tree_hash(BEFORE.replace(b"sin", b"cos"))
    assert tree_hash(b"text = 'a'") != tree_hash(b"text = 'b'")  # a string that is used is code
    assert tree_hash(b"1 +") != tree_hash(b"1 -")


def computed_by(function, **setting):
    """The modules of ours whose Python code runs."""
    seen = set()

    def look(frame, event, argument):
        seen.add(frame.f_globals.get("__name__", ""))

    def profiled():
        sys.setprofile(look)
        function(**setting)

    # calls from the main thread run in another one, those from others where they are
    with ThreadPoolExecutor(1) as pool:
        pool.submit(profiled).result()
    return {name for name in seen if name.partition(".")[0] == "biasflow"}


@pytest.mark.parametrize("id", ["R/fig1", "R/fig4", "W/fig1", "C/fig4", "B/fig1"])
def test_whatever_runs_for_a_point_is_in_its_closure(id):
    """Packages' own files and the machinery of sweeps aside, which hand on names and points."""
    chosen = experiment(id)
    grid = chosen.grids["quick"]
    ran = computed_by(chosen.point, **grid.point(0))
    assert ran and ran <= set(closure(versions.roots_of(chosen.point)))


def test_pages_and_other_papers_do_not_count():
    everything = set(closures.all_modules())
    for chosen in EXPERIMENTS:
        found = set(closure(versions.roots_of(chosen.point)))
        assert found < everything and not any(
            name.startswith(("biasflow.report", "biasflow.cli")) for name in found
        )
    assert not any(
        name.startswith("biasflow.flows")
        for name in closure(versions.roots_of(experiment("W/fig1").point))
    )


def test_a_verdict_rests_on_the_module_of_its_claim_and_not_on_the_register():
    for claim in CLAIMS:
        roots = roots_of_claim(claim)
        assert len(roots) == 2 and roots[0].rpartition(".")[0].endswith(
            (".mirror", ".relu", ".margin", ".regimes", ".since")
        )
        assert claim.check.__module__ in closure(
            roots
        ) and "biasflow.theory.verification" not in closure(roots)


def test_names_that_packages_hand_on_lead_to_their_home():
    follow = closures._targets
    assert list(
        follow("biasflow.experiments.library", Import(2, "flows", "gradient_flow", ""))
    ) == ["biasflow.flows.methods"]
    assert list(follow("biasflow.flows", Import(1, "", "units", "units"))) == [
        "biasflow.flows.units"
    ]
    assert list(follow("biasflow.flows", Import(0, "numpy", "", "np"))) == []


def test_a_change_of_one_module_changes_the_versions_above_it_alone(monkeypatch):
    module = "biasflow.limits.norms"
    roots = {id: versions.roots_of(experiment(id).point) for id in ("W/fig1", "R/fig1")}
    before = {id: versions.code_version.__wrapped__(*some) for id, some in roots.items()}
    whole = versions.code_version.__wrapped__()
    path, text = closures._snapshot()[module]
    monkeypatch.setitem(closures._snapshot(), module, (path, text + b"\n# a comment\n"))
    monkeypatch.setattr(closures, "_source", closures._source.__wrapped__)
    assert before == {id: versions.code_version.__wrapped__(*some) for id, some in roots.items()}
    monkeypatch.setitem(closures._snapshot(), module, (path, text + b"\nA_CHANGE = 1\n"))
    after = {id: versions.code_version.__wrapped__(*some) for id, some in roots.items()}
    assert after["R/fig1"] == before["R/fig1"] and after["W/fig1"] != before["W/fig1"]
    assert versions.code_version.__wrapped__() != whole


def test_trees_are_remembered_where_there_is_no_store_too(monkeypatch, tmp_path):
    """A first sweep of two points waited for hundreds of trees, in every process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BIASFLOW_CACHE", raising=False)
    monkeypatch.setattr(closures.platformdirs, "user_cache_path", lambda *_, **__: tmp_path / "own")
    module = "biasflow.limits.norms"
    monkeypatch.setitem(closures._fresh, closures._address(module), closures._source(module))
    closures._remember()
    assert [path.name for path in tmp_path.iterdir()] == ["own"]  # no store begins by itself
    known = closures._memory.__wrapped__()
    assert known[closures._address(module)] == closures._source(module)
    (tmp_path / ".biasflow").mkdir()
    assert closures._memory_folder().name == ".biasflow"
