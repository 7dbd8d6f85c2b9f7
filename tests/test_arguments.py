"""Arguments that are no data are refused where arrays are read, with a sentence that names them."""

import numpy as np
import pytest

import biasflow as bf
from biasflow._core.arguments import one_of, positive_float, positive_int, real_array, real_number
from biasflow.errors import InputError, unknown

X, y = np.random.default_rng(0).standard_normal((4, 6)), np.arange(4.0)
HIDDEN = np.ma.masked_array(X, X > 1)


@pytest.mark.parametrize(
    "value", [HIDDEN, list(HIDDEN), [X[0], HIDDEN[1], *X[2:]], [1.0, np.ma.masked], np.ma.masked]
)
def test_masked_entries_are_refused(value):
    """The mask used to be ignored, and what it hides computed with."""
    with pytest.raises(bf.errors.InputError, match="X: some entries are masked"):
        real_array("X", value)


def test_a_mask_of_nothing_is_none():
    np.testing.assert_array_equal(real_array("X", np.ma.masked_array(X, False)), X)


@pytest.mark.parametrize(
    "call",
    [
        lambda: bf.limits.min_l2(HIDDEN, y),
        lambda: bf.Dataset(HIDDEN, y),
        lambda: bf.MirrorProblem(bf.potentials.Euclidean(), HIDDEN, y),
        lambda: bf.DiagonalNetwork(2).init(np.ma.masked_array(np.ones(6), X[0] > 0), dim=6),
        lambda: bf.potentials.Hypentropy(np.ma.masked_array(np.ones(6), X[0] > 0)),
        lambda: bf.diagnostics.transport_distance(HIDDEN, X),
        lambda: bf.diagnostics.inverse_norm(HIDDEN),
    ],
)
def test_masks_are_noticed_by_public_functions(call):
    with pytest.raises(bf.errors.InputError, match="masked"):
        call()


@pytest.mark.parametrize(
    "value", ["0.1", b"0.1", True, np.True_, None, 1j, [0.1, 0.2], 10**400, object()]
)
def test_what_is_no_number_is_refused(value):
    with pytest.raises(bf.errors.InputError, match="size: expected a positive"):
        positive_float("size", value)


def test_numbers_of_any_kind_are_numbers():
    assert (
        real_number("t", np.float32(0.5)) == real_number("t", np.array(0.5)) == 0.5
        and real_number("t", -2) == -2.0
    )


def test_long_values_are_cut_in_errors():
    with pytest.raises(bf.errors.InputError) as caught:
        positive_int("n", "x" * 5000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("value", [np.ones(3), {}, ["relu"], 1])
def test_choices_compare_with_anything(value):
    """An array compares entry by entry, which raised ValueError."""
    with pytest.raises(bf.errors.InputError, match="activation: expected one of"):
        one_of("activation", value, ("relu", "leaky"))


@pytest.mark.parametrize("name", [None, 3, ["W/fig1"]])
def test_names_that_are_no_text(name):
    assert "no figure named" in str(unknown("figure", name, ["W/fig1"]))
    with pytest.raises(bf.errors.UnknownNameError):
        bf.figure(name)


# --- foreign exceptions that reached users ---


def shallow(weights, X):
    return (X @ weights) ** 2


def named_loss():
    return bf.Problem(bf.DiagonalNetwork(2), (X, y), "square", scale=0.1)


@pytest.mark.parametrize(
    "call, word",
    [
        (lambda: bf.tangent_kernel(shallow, np.ones(3), X), "network: fails on inputs of shape"),
        (
            lambda: bf.tangent_kernel(lambda w, X: w.nothing, np.ones(6), X),
            "network: fails on inputs",
        ),
        (lambda: bf.tangent_kernel(7, np.ones(6), X), "network: expected a function"),
        (
            lambda: bf.potentials.bregman(
                bf.potentials.Hypentropy(0.1), [1.0, 2.0], [1.0, 2.0, 3.0]
            ),
            "two vectors of one length",
        ),
        (
            lambda: bf.potentials.bregman(
                bf.potentials.Hypentropy(0.1), [[1.0, 2.0]], [[1.0, 2.0]]
            ),
            "two vectors of one length",
        ),
        (lambda: bf.potentials.bregman("entropy", [1.0], [1.0]), "potential: expected Potential"),
        (
            lambda: bf.potentials.bregman(bf.potentials.Euclidean(), [1e200], [0.0]),
            "beyond float range",
        ),
        (lambda: bf.data.sparse_regression(4, 6, 2, "a"), "noise_var"),
        (lambda: bf.data.sparse_regression(10**20, 6, 2), "n: .* more than any machine"),
        (lambda: bf.data.hypercube(10**12, 10**12), "do not fit into memory"),
        (lambda: bf.TwoLayer(10**20, 3).init(1.0), "width: .* more than any machine"),
        (lambda: bf.data.from_entries((10**12, 10**12), [0], [0], [1.0]), "shape"),
        (
            lambda: bf.limit(bf.models.random_network(8, 3, 0.5)[0], bf.Dataset(X, y), scale=0.1),
            "X: inputs have dimension 6",
        ),
        (lambda: bf.diagnostics.commuting_defect(float, np.ones(3), X), "model: fails"),
        (
            lambda: bf.diagnostics.commuting_defect(
                bf.TwoLayer(2, 3), bf.TwoLayer(2, 3).init(1.0), X
            ),
            "model: fails",
        ),
        (lambda: bf.diagnostics.interclass_distance(X, [1, 1, -1, -1], 1, gap=float("nan")), "gap"),
        (
            lambda: bf.diagnostics.interclass_distance(X, [1, 1, -1, -1], 1, gap=1e-320),
            "gap: .* below what the rounding",
        ),
        (lambda: bf.DeepNetwork((10**12, 10**12, 1)), "widths: the number of weights"),
        (
            lambda: bf.regime.kernel_distance(shallow, np.ones(6), np.full(6, 2.0), 1e100 * X),
            "beyond float range",
        ),
        (
            lambda: bf.mirror_flow(bf.potentials.Hypentropy(0.1), X, y).at("one"),
            "t: expected a number",
        ),
        (lambda: bf.sweeps.Grid({"a": 3}), "axis 'a': expected a sequence of values, found int"),
        (
            lambda: bf.sweeps.Grid({"a": "abc"}),
            "axis 'a': expected a sequence of values, found str",
        ),
        (lambda: bf.sweeps.Grid([1, 2]), "axes: expected Mapping"),
        (lambda: bf.sweeps.Grid({1: [2]}), "names are texts, found 1"),
        (
            lambda: bf.sweep(shallow, bf.sweeps.Grid({"a": (1,)}), engine=bf.SquareLoss),
            "engine: expected Engine",
        ),
        (lambda: bf.sweep(shallow, bf.sweeps.Grid({"a": (1,)}), max_points="a"), "max_points"),
        (lambda: bf.limit(named_loss()), r"expected Loss, found str; an example is bf\.SquareLoss"),
        (lambda: bf.gradient_flow(named_loss()), r"an example is bf\.SquareLoss\(\)"),
        (
            lambda: bf.max_margin(X[:2], [0, 1], norm="f1"),
            r"y: expected labels of ±1, entry 0 is 0; 2\*y - 1 makes ±1 of 0 and 1",
        ),
    ],
)
def test_sentences_where_there_were_tracebacks(call, word):
    with pytest.raises(bf.errors.InputError, match=word):
        call()


@pytest.mark.parametrize("power", [-1000, -530, 0, 530, 1000])
def test_the_distance_between_classes_scales_exactly(power):
    """Zero at 1e-300, ZeroDivisionError at 1e160."""
    classes = [1.0, 1.0, -1.0, -1.0]
    for rank in (1, 6):
        one, other = (
            bf.diagnostics.interclass_distance(Z, classes, rank) for Z in (X, np.ldexp(X, power))
        )
        assert (
            np.ldexp(one.objective, power) == other.objective
            and np.ldexp(one.certificate.dual, power) == other.certificate.dual
        )


@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_bounds_on_rates_of_extreme_data_are_numbers(scale):
    """Squares of Python floats raise where they overflow."""
    bounds = bf.diagnostics.local_bounds(
        bf.MirrorProblem(bf.potentials.Hypentropy(0.1), scale * X, scale * y)
    )
    assert 0 <= bounds.linear <= np.inf and 0 <= bounds.weighted <= np.inf


def test_whole_numbers_that_floats_round_are_refused():
    """Nanoseconds one apart were called equal, and their margin exactly zero."""
    with pytest.raises(bf.errors.InputError, match="float64 rounds"):
        bf.max_margin(np.array([[1700000000000000001], [1700000000000000002]]), [1, -1], norm="f2")
    assert bf.max_margin(
        np.array([[1700000000], [1700000001]]), [1, -1], norm="l2"
    ).certificate.kind in ("exact", "bound")
    assert bf.Dataset(np.array([[2**60], [2**61]]), [1, 2]).n == 2


def test_data_are_a_dataset_or_inputs_and_labels():
    X, y = np.eye(2), np.array([1.0, 2.0])
    model, loss = bf.DiagonalNetwork(), bf.SquareLoss()
    pair = bf.gradient_flow(model, (X, y), loss, model.init(0.1, dim=2))
    whole = bf.gradient_flow(model, bf.Dataset(X, y), loss, model.init(0.1, dim=2))
    np.testing.assert_array_equal(pair.final, whole.final)
    with pytest.raises(InputError, match="expected Dataset, found tuple"):
        bf.Problem(model, (X, y, y), loss, scale=0.1)
