"""Conservation laws: counts derived by hand, formulas on raw gradients, drift of checkpoints."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.diagnostics import law_formulas
from biasflow.diagnostics.lie_spans import PRIME, Dual, Echelon, FloatSpan, bracket, value
from biasflow.errors import InputError, RefusedError

THREE_LINES = np.array([[np.cos(t), np.sin(t)] for t in (0.0, 1.0, 2.0)])


def factor_count(rows, cols, rank):
    """Orbits of so(rows, cols): dim so(N) less that of the stabiliser of `rank` vectors."""
    N = rows + cols
    left = max(N - rank, 0)
    return N * rank - (N * (N - 1) - left * (left - 1)) // 2


def deep(widths, **options):
    return bf.DeepNetwork(widths, activation="linear", **options)


COUNTS = {
    "diagonal, depth 2": (bf.DiagonalNetwork(2), 3, 3),
    "diagonal, depth 3": (bf.DiagonalNetwork(3), 3, 3),
    "diagonal, depth 5": (bf.DiagonalNetwork(5), 2, 2),
    "product": (bf.ProductNetwork(), 4, 4),
    "UVᵀ, r < rows": (bf.MatrixFactorisation((3, 2), 2), None, 3),
    "UVᵀ, rows < r ≤ rows + cols": (bf.MatrixFactorisation((2, 2), 4), None, 10),
    "UVᵀ, r > rows + cols": (bf.MatrixFactorisation((2, 2), 5), None, 14),
    "UVᵀ, 1 × 1": (bf.MatrixFactorisation((1, 1), 4), None, 7),
    "two-layer ReLU": (bf.TwoLayer(4, 3), None, 4),
    "two-layer leaky ReLU": (bf.TwoLayer(3, 2, "leaky_relu"), None, 3),
    "two-layer ReLU on a line": (bf.TwoLayer(5, 1), None, 10 - 2),
    "signed, plane": (bf.SignedTwoLayer(3, 2), None, 0),
    "signed, line": (bf.SignedTwoLayer(5, 1), None, 5 - 2),
    "fixed directions": (bf.FixedDirections(THREE_LINES, normalise=True), None, 3),
    "fixed, one direction twice": (bf.FixedDirections([[1.0, 0], [1.0, 0], [0, 1.0]]), None, 4),
    "linear, depth 1": (deep((3,)), None, 0),
    "linear, depth 2": (deep((2, 2)), None, factor_count(2, 1, 2)),
    "linear, depth 2, wide": (deep((2, 5)), None, factor_count(2, 1, 5)),
    "linear, depth 3": (deep((2, 2, 2)), None, 6),
    "ReLU, depth 2, biases": (bf.DeepNetwork((2, 2), bias=True), None, 2),
    "ReLU, depth 3": (bf.DeepNetwork((3, 2, 2)), None, 4),
    "symmetric, depth 1": (bf.DeepNetwork((3,), symmetric=True), None, 3),
    "symmetric linear, depth 2": (deep((2, 2), symmetric=True), None, factor_count(2, 1, 4)),
    "symmetric ReLU, biases": (bf.DeepNetwork((2, 2), symmetric=True, bias=True), None, 5),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_derived_by_hand_are_proven(name):
    model, dim, count = COUNTS[name]
    laws = bf.conservation_laws(model, dim=dim)
    assert (laws.number, laws.kind, laws.refuted) == (count, "exact", ())
    assert laws.lower == laws.upper == count


def test_counts_beyond_the_formulas_are_closed():
    single = bf.conservation_laws(deep((1, 2, 2)))  # one field: P − 1 laws, one is no formula
    assert (single.number, single.lower, single.kind) == (7, 6, "closed")
    pairs = bf.FixedDirections(np.vstack([THREE_LINES, -THREE_LINES]), normalise=True)
    laws = bf.conservation_laws(pairs)  # three differences (θx)₊ − (−θx)₊ = θx in the plane
    assert (laws.number, laws.lower, laws.kind) == (7, 6, "closed")
    assert 0 < laws.doubt < 1e-6


def test_a_unit_that_no_input_reaches_has_laws_of_its_own():
    model = bf.DeepNetwork((2, 2, 2))
    W1, W3 = np.array([[1.0, 0.3], [0.2, -1.0]]), np.array([[1.0, 0.5]])
    open_, dead = np.array([[1.0, -0.7], [-0.6, 1.0]]), np.array([[1.0, -0.7], [-1.0, -1.0]])
    counts = [
        bf.conservation_laws(model, bf.models.DeepParams((W1, W2, W3))).number
        for W2 in (open_, dead)
    ]
    assert counts[1] > counts[0] >= 4


def test_time_gives_bounds():
    laws = bf.conservation_laws(bf.MatrixFactorisation((6, 6), 6), time_s=1e-9)
    assert laws.kind == "bound" and laws.number is None
    assert laws.lower <= 21 <= laws.upper
    assert "to" in str(laws)


def random_params(laws, rng):
    return bf.diagnostics.conservation.leaf_map(
        lambda leaf: rng.uniform(0.5, 1.5, np.shape(leaf)), laws.shape
    )


@pytest.mark.parametrize("name", COUNTS)
def test_formulas_are_orthogonal_to_raw_gradients(name):
    """Finite differences of the formula along the model's own gradient, in floats."""
    model, dim, _ = COUNTS[name]
    rng = np.random.default_rng(3)
    laws = bf.conservation_laws(model, dim=dim)
    if not laws.laws:
        return
    d = law_formulas.system_of(model, None, dim).inputs
    params = random_params(laws, rng)
    laws = bf.conservation_laws(model, params, dim=dim)
    X, output = rng.standard_normal((8, d)), rng.standard_normal(8)
    gradient = model.gradient(params, X, output)
    flat, unflatten = bf.diagnostics.commuting.flatten(params)
    along, _ = bf.diagnostics.commuting.flatten(gradient)
    h = 1e-4 / np.linalg.norm(along)

    def at(k):
        return laws.values(unflatten(flat + k * h * along))

    slope = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)
    assert np.max(np.abs(slope)) < 1e-8 * np.linalg.norm(along)


def test_depth_three_conserves_inverses_and_not_products():
    guesses = {
        "w₊w₋": lambda p: p.plus * p.minus,
        "1/w₊ + 1/w₋": lambda p: 1 / p.plus + 1 / p.minus,
        "‖θ‖²": lambda p: (p.plus**2).sum() + (p.minus**2).sum(),
    }
    three = bf.conservation_laws(bf.DiagonalNetwork(3), dim=2, candidates=guesses)
    assert three.refuted == ("w₊w₋", "‖θ‖²") and three.number == 2
    two = bf.conservation_laws(bf.DiagonalNetwork(2), dim=2, candidates=guesses)
    assert two.refuted == ("1/w₊ + 1/w₋", "‖θ‖²") and two.number == 2


def test_a_wrong_formula_of_ours_would_be_refuted(monkeypatch):
    real = law_formulas._diagonal_law
    monkeypatch.setattr(law_formulas, "_diagonal_law", lambda depth, d: real(2, d))
    laws = bf.conservation_laws(bf.DiagonalNetwork(3), dim=2)
    assert laws.laws == () and laws.refuted == ("w₊,i·w₋,i",)
    assert (laws.number, laws.kind) == (2, "closed")


def test_inputs_that_are_given_leave_more_laws():
    model = bf.MatrixFactorisation((2, 2), 1)
    assert bf.conservation_laws(model).number == 1
    completion = np.eye(4)[[0]]  # one entry of UVᵀ is seen: one field
    assert bf.conservation_laws(model, X=completion).number == 3


def test_functions_in_jax_are_counted_in_floats():
    import jax.numpy as jnp

    def product(params, X):
        return X @ (params["u"] * params["v"])

    def saturated(params, X):
        return jnp.tanh(X @ params["W"].T) @ params["a"]

    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 2))
    plain = {"u": rng.standard_normal(2), "v": rng.standard_normal(2)}
    found = bf.conservation_laws(product, plain, X)
    assert (found.number, found.kind) == (2, "heuristic") and found.doubt < 1e-9
    tanh = {"W": rng.standard_normal((2, 2)), "a": rng.standard_normal(2)}
    assert bf.conservation_laws(saturated, tanh, X).number == 0


def test_a_model_of_the_users_own():
    class Cubic(bf.models.Model):
        """f = ⟨u³v, x⟩: u²/2 − 3v²/2 is conserved."""

        def init(self, scale=1.0, *, log_scale=None, key=0, dim=None):
            return bf.models.ProductParams(np.ones(dim), np.ones(dim))

        def __call__(self, params, X):
            return X @ (params.u**3 * params.v)

        def effective(self, params):
            return params.u**3 * params.v

        def gradient(self, params, X, output_gradient):
            g = X.T @ output_gradient
            return bf.models.ProductParams(3 * params.u**2 * params.v * g, params.u**3 * g)

    guess = {"u² − 3v²": lambda p: p.u**2 - 3 * p.v**2, "u² − v²": lambda p: p.u**2 - p.v**2}
    start = bf.models.ProductParams(np.ones(2), np.ones(2))
    laws = bf.conservation_laws(Cubic(), start, dim=2, candidates=guess)
    assert (laws.number, laws.kind, laws.refuted) == (2, "exact", ("u² − v²",))


def trained(steps=40, step=0.05, kappa=0.0):
    """Checkpoints of a network with two outputs, by hand: matrices and biases by name."""
    rng = np.random.default_rng(5)
    state = {
        "0.weight": rng.standard_normal((4, 3)),
        "0.bias": 0.1 * rng.standard_normal(4),
        "2.weight": rng.standard_normal((2, 4)),
        "2.bias": np.zeros(2),
    }
    X, Y = rng.standard_normal((6, 3)), rng.standard_normal((6, 2))
    found = [state]
    for _ in range(steps):
        before = X @ state["0.weight"].T + state["0.bias"]
        hidden = np.maximum(before, 0)
        error = (hidden @ state["2.weight"].T + state["2.bias"] - Y) / len(X)
        back = (before > 0) * (error @ state["2.weight"])
        gradient = {
            "0.weight": back.T @ X,
            "0.bias": back.sum(0),
            "2.weight": error.T @ hidden,
            "2.bias": error.sum(0),
        }
        state = {k: (1 - step * kappa) * w - step * gradient[k] for k, w in state.items()}
        found.append(state)
    return found


def test_drift_of_state_dicts_falls_with_the_step():
    states = trained()
    laws = bf.conservation_laws(states[0])
    assert len(laws.labels) == 4 and laws.lower == 4
    coarse, fine = laws.drift(states), laws.drift(trained(steps=400, step=0.005))
    assert 8 < coarse.worst / fine.worst < 12
    assert coarse.drift[0] == pytest.approx(0.0)
    assert "4 laws along 41 checkpoints" in str(coarse)
    shuffled = [states[0], {k: w[::-1] for k, w in states[0].items()}]
    assert laws.drift(shuffled).worst > 0.05


def test_weight_decay_is_predicted():
    step, kappa = 0.002, 0.3
    states = trained(steps=500, step=step, kappa=kappa)
    laws = bf.conservation_laws(states[0])
    times = step * np.arange(len(states))
    plain = laws.drift(states, times=times).worst
    assert laws.drift(states, times=times, weight_decay=kappa).worst < 0.02 * plain
    with pytest.raises(InputError, match="times"):
        laws.drift(states, weight_decay=kappa)
    with pytest.raises(InputError, match="weight_decay"):
        laws.drift(states, times=times, weight_decay=-1.0)


def test_drift_of_a_trajectory():
    data = bf.Dataset(np.eye(2), np.array([1.0, -0.5]))
    start = bf.models.DiagonalParams(np.array([1.0, 0.5]), np.array([0.7, 1.2]))
    problem = bf.Problem(bf.DiagonalNetwork(3), data, bf.SquareLoss("half"), start)
    flow = bf.gradient_flow(problem, method="weights")
    drift = bf.conservation_laws(bf.DiagonalNetwork(3), start).drift(flow)
    assert drift.worst < 1e-6
    assert drift.times is flow.times
    axis = drift.plot()
    assert len(axis.lines) == 2 and axis.get_yscale() == "log"


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda: bf.conservation_laws(bf.DiagonalNetwork(2)), "dim"),
        (lambda: bf.conservation_laws(3), "model"),
        (lambda: bf.conservation_laws({"w": np.ones((2, 3, 3))}), "fully connected"),
        (lambda: bf.conservation_laws({"a": np.ones((2, 3)), "b": np.ones((2, 3))}), "chain"),
        (lambda: bf.conservation_laws({"a": np.ones((2, 3)), "b": np.ones(3)}), "biases"),
        (lambda: bf.conservation_laws(bf.DeepNetwork((2, 2), rounding=0.1)), "rounded"),
        (lambda: bf.conservation_laws(bf.TwoLayer(2, 2), X=np.ones((1, 3))), "dimension 3"),
        (lambda: bf.conservation_laws(bf.TwoLayer(2, 2), candidates={"a": 1}), "candidates"),
        (
            lambda: bf.conservation_laws(
                bf.TwoLayer(2, 2), candidates={"log": lambda p: np.log(p.a)}
            ),
            "exact numbers",
        ),
        (lambda: bf.conservation_laws(bf.TwoLayer(2, 2), (np.ones(3), np.ones((2, 2)))), "shapes"),
        (lambda: bf.conservation_laws(lambda p, X: X @ p), "params, X"),
        (lambda: bf.conservation_laws(bf.TwoLayer(2, 2)).drift([]), "at least two"),
        (lambda: bf.conservation_laws(bf.TwoLayer(2, 2)).drift(3), "checkpoints"),
        (lambda: bf.conservation_laws(bf.TwoLayer(2, 2)).values({"x": np.ones((2, 2))}), "named"),
    ],
)
def test_errors_say_what_is_wrong(call, match):
    with pytest.raises((InputError, RefusedError), match=match):
        call()


def test_dual_numbers_and_ranks():
    x = Dual(3, 1)
    assert ((x**3).real, (x**3).slope) == (27, 27)
    assert (1 / x).slope * 9 == -1 and (x / 2).real * 2 == 3 and (0.5 * x).slope * 2 == 1
    assert x > 2.5 and x >= 3 and not x < 3 and abs(-x).real == 3 and (2 - x).real == -1
    rows = Echelon(3)
    assert [rows.add(v) for v in ([1, 2, 3], [2, 4, 6], [0, 1, PRIME], [1, 3, 3])] == [
        True,
        False,
        True,
        False,
    ]
    floats = FloatSpan(2)
    assert [floats.add(v) for v in ([1.0, 1.0], [2.0, 2.0 + 1e-13], [0.0, 0.0], [1.0, 0.0])] == [
        True,
        False,
        False,
        True,
    ]


def test_brackets_of_linear_fields_are_commutators():
    rng = np.random.default_rng(0)
    A, B = rng.integers(-5, 6, (2, 3, 3))
    place = np.array([2, -1, 3], dtype=object)
    both = bracket(lambda w: A @ w, lambda w: B @ w)
    assert list(value(both, place)) == list((B @ A - A @ B) @ place)
    nested = bracket(lambda w: A @ w, both)
    inner = B @ A - A @ B
    assert list(value(nested, place)) == list((inner @ A - A @ inner) @ place)
