"""Records show themselves: as a few lines, as HTML, as pictures, films and labelled arrays; and
they predict."""

import html
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import biasflow as bf
from biasflow._core.markup import badge, card, digits_of, escaped, sparkline

VOID = {"line", "rect", "polyline", "br"}


class Balanced(HTMLParser):
    """Every tag that opens closes, in order."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        assert all(not name.startswith("on") for name, _ in attrs)
        assert tag != "script"
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in VOID

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check(markup):
    parser = Balanced()
    parser.feed(markup)
    assert parser.open == []
    for colour in re.findall(r"(?<!-)color:([^;\"]+)", markup):
        assert colour == "inherit"  # text has the page's own colour, light or dark
    return html.unescape(re.sub(r"<[^>]+>", " ", markup))


DATA = bf.data.sparse_regression(n=8, d=12, sparsity=2, noise_var=0.0, key=1)
LINE = bf.Dataset(
    np.column_stack([[-1.0, 0.0, 0.7, 1.5], np.ones(4)]), [0.5, -0.3, 0.4, 0.1], "line"
)
CLASSES = bf.Dataset(
    [[-1.0, 0.3, 1.0], [0.2, 1.0, 1.0], [0.9, -0.4, 1.0], [-0.3, -1.0, 1.0]], [1.0, -1, 1, -1]
)
PLANE = bf.Dataset([[1.0, 0.2], [-0.3, 1.0], [-0.5, -0.9]], [1.0, -0.5, 0.3], "plane")
HALF = bf.SquareLoss("half")


def diagonal(depth=2):
    return bf.Problem(bf.DiagonalNetwork(depth), DATA, HALF, scale=0.1)


def flow_of(kind):
    if kind == "diagonal":
        return bf.gradient_flow(diagonal())
    if kind == "deeper":
        return bf.gradient_flow(diagonal(3))
    if kind == "product":
        return bf.gradient_flow(bf.Problem(bf.ProductNetwork(), DATA, HALF, scale=0.3))
    if kind == "fixed directions":
        model = bf.FixedDirections(np.vstack([np.eye(12)[:6], -np.eye(12)[6:]]))
        return bf.gradient_flow(bf.Problem(model, DATA, HALF, scale=0.3), t1=2.0)
    if kind == "matrix":
        model = bf.MatrixFactorisation((3, 4), 8)
        return bf.gradient_flow(bf.Problem(model, DATA, HALF, scale=0.2), t1=3.0)
    if kind == "mirror":
        return bf.mirror_flow(bf.potentials.Hypentropy(0.1), DATA.X, DATA.y)
    if kind == "saddle path":
        return bf.saddle_path(DATA.X, DATA.y)
    if kind == "descent":
        return bf.train(diagonal(), steps=200, step=0.01)
    if kind == "deep":
        problem = bf.Problem(bf.DeepNetwork((3, 4)), CLASSES, HALF, scale=0.5)
        return bf.train(problem, steps=20, step=0.01)
    if kind == "signed":
        problem = bf.Problem(bf.SignedTwoLayer(6, 2), LINE, HALF, scale=0.4)
        return bf.gradient_flow(problem, t1=2.0)
    model = bf.TwoLayer(8, {"relu line": 2, "relu plane": 2, "margin": 3}[kind])
    if kind == "margin":
        problem = bf.Problem(model, CLASSES, bf.ExponentialLoss(), model.init(0.5, key=0))
        return bf.gradient_flow(problem, t1=20.0)
    data = LINE if kind == "relu line" else PLANE
    start = model.init(0.05, key=2)
    return bf.gradient_flow(bf.Problem(model, data, bf.SquareLoss("half-mean"), start), t1=60.0)


FLOWS = (
    "diagonal",
    "deeper",
    "product",
    "fixed directions",
    "matrix",
    "mirror",
    "saddle path",
    "descent",
    "deep",
    "signed",
    "relu line",
    "relu plane",
    "margin",
)


@pytest.fixture(scope="module")
def flows():
    return {}


def flow_once(flows, kind):
    if kind not in flows:
        flows[kind] = flow_of(kind)
    return flows[kind]


@pytest.mark.parametrize("kind", FLOWS)
def test_flows_show_predict_and_are_labelled(kind, flows):
    flow = flow_once(flows, kind)
    text = repr(flow)
    assert 3 <= len(text.splitlines()) <= 8 and flow.result.value in text
    shown = check(flow._repr_html_())
    assert flow.result.value in shown and f"{flow.loss[-1]:.4g}" in shown
    assert len(flow._repr_html_()) < 10_000
    figure = flow.plot()
    assert len(figure.axes) >= 2 and figure.axes[0].get_ylabel() == "loss"
    problem = flow.problem
    mirror = isinstance(problem, bf.MirrorProblem)
    X = problem.X if mirror else problem.data.X
    y = problem.y if mirror else problem.data.y
    values = flow(X)
    loss = 0.5 * np.sum((values - y) ** 2) if mirror else problem.loss(values, y)
    # the predictions are those of the state saved last: the same sums in another order
    assert loss == pytest.approx(flow.loss[-1], rel=1e-6, abs=1e-15 * flow.loss[0])
    assert flow(X, flow.times[-1]) == pytest.approx(values)
    assert flow(X, flow.times[-2:]).shape == (2, len(y))
    with pytest.raises(bf.errors.InputError, match="columns"):
        flow(np.ones((2, X.shape[1] + 1)))
    table = flow.to_xarray()
    assert table.sizes["time"] == len(flow.times) and table.sizes["sample"] == len(y)
    assert "coordinate" in table.dims or "neuron" in table.dims or kind in ("matrix", "deep")
    assert table.attrs["result"] == flow.result.value and table.attrs["error"] >= 0
    assert table["predictions"].values[-1] == pytest.approx(values)


def test_a_film_is_written(flows, tmp_path):
    path = flow_once(flows, "relu line").animate(tmp_path / "new" / "film.gif", frames=2)
    assert path.read_bytes().startswith(b"GIF89a")


@pytest.mark.parametrize("kind", ["diagonal", "saddle path", "signed", "relu plane", "margin"])
def test_a_film_without_a_path_is_an_animation(kind, flows):
    from matplotlib.animation import FuncAnimation

    film = flow_once(flows, kind).animate(frames=3)
    assert isinstance(film, FuncAnimation)
    film._draw_was_started = True  # it is not to be saved here
    for frame in (0, 1, 2):
        film._func(frame)


def limits():
    relu = bf.TwoLayer(8, 12)
    start = relu.init(1.0, key=0)
    y = np.where(CLASSES.y > 0, 1.0, -1.0)
    inputs = CLASSES.X[:, :2]
    orthogonal = bf.Dataset(np.eye(3), [1.0, -0.5, 0.7])
    three = bf.TwoLayer(20, 3)
    return {
        "projection": (bf.limit(diagonal()), DATA.X, DATA.y),
        "min l1": (bf.min_norm(DATA, norm="l1"), DATA.X, DATA.y),
        "min l2, bias": (bf.min_norm(DATA, norm="l2", bias="append"), DATA.X, DATA.y),
        "relu": (bf.min_norm(LINE, norm="relu"), LINE.X, LINE.y),
        "relu, bias": (
            bf.min_norm(LINE.X[:, :1], LINE.y, norm="relu", bias="append"),
            LINE.X[:, :1],
            LINE.y,
        ),
        "saddles": (
            bf.limit(bf.Problem(three, orthogonal, HALF, three.init(1.0, key=0))),
            orthogonal.X,
            orthogonal.y,
        ),
        "kernel": (bf.min_norm(DATA, norm=DATA.X @ DATA.X.T), DATA.X @ DATA.X.T, DATA.y),
        "tangent": (
            bf.limits.tangent_interpolator(relu, start, DATA.X, DATA.y),
            DATA.X,
            DATA.y,
        ),
        "nuclear": (bf.limits.min_nuclear_norm((2, 2), [0, 1], [0, 1], [1.0, 2.0]), None, None),
        "f1": (bf.max_margin(inputs, y, norm="f1"), inputs, y),
        "f1, column": (bf.max_margin(CLASSES, norm="f1", bias="column"), CLASSES.X, y),
        "f2, column": (bf.max_margin(CLASSES, norm="f2", bias="column"), CLASSES.X, y),
        "l2 margin": (bf.max_margin(CLASSES, norm="l2"), CLASSES.X, y),
    }


def test_limits_show_predict_and_are_labelled():
    for name, (limit, X, y) in limits().items():
        text = repr(limit)
        assert 3 <= len(text.splitlines()) <= 5 and limit.certificate.kind in text, name
        assert limit.certificate.kind in check(limit._repr_html_())
        assert len(limit.plot().axes) >= 2
        table = limit.to_xarray()
        assert table.attrs["objective"] == limit.objective and len(table.data_vars) >= 1
        if X is None:
            continue
        values = limit(X)
        if limit.certificate.primal < limit.certificate.dual or "f" in name or "margin" in name:
            # a margin: what the certificate says is attained
            least = float(np.min(y * values))
            if "f1" in name or "f2" in name:
                assert least == pytest.approx(limit.objective, rel=1e-6)
        else:
            size = np.max(np.abs(y))
            reached = max(limit.certificate.residual, 1e-12)  # rounding of another order of sums
            assert np.max(np.abs(values - y)) <= 4 * reached * size, name


def test_a_classifier_in_the_plane_is_drawn_with_its_boundary_and_samples():
    X, y = CLASSES.X[:, :2], CLASSES.y
    for limit in (
        bf.max_margin(X, y, norm="f1"),
        bf.max_margin(CLASSES, norm="f2", bias="column"),
        bf.max_margin(X[:2], y[:2], norm="l2", bias="append"),
        bf.limits.f1_max_margin(CLASSES.X, y, bias="column"),
    ):
        axis = limit.plot().axes[0]
        n = len(limit.stats["data"].y)
        assert axis.get_xlabel() == "x₁" and "h = 0, ±γ" in axis.get_title()
        assert f"{limit.objective:.8g}" in axis.get_title()
        classes = [line for line in axis.lines if line.get_label() in ("+1", "-1")]
        assert sum(len(line.get_xdata()) for line in classes) == n
        assert len(axis.collections) >= 4  # both sides, and three lines
        for lines, level in zip(axis.collections[1:4], (-1, 0, 1), strict=True):
            ends = np.vstack([path.vertices for path in lines.get_paths()])
            columns = limit.stats["data"].d - 2
            values = limit(np.hstack([ends, np.ones((len(ends), columns))]))
            assert np.max(np.abs(values - level * limit.objective)) < 0.05 * limit.objective
    same = bf.max_margin([[0.5, 2.0], [0.5, 2.0]], [1, -1], norm="f1")
    assert same.objective == 0 and len(same.plot().axes[0].collections) == 0
    line = bf.max_margin(X[:, :1], y, norm="f1")
    assert line.plot().axes[0].get_xlabel() != "x₁"


def test_a_limit_of_fixed_directions_predicts_from_inputs():
    model = bf.FixedDirections(np.vstack([np.eye(12), -np.eye(12)]))
    limit = bf.limit(bf.Problem(model, DATA, HALF, scale=0.3))
    assert limit.value.shape == (24,)
    assert limit(DATA.X) == pytest.approx(DATA.y)


def test_a_limit_says_what_inputs_it_takes():
    limit = bf.min_norm(DATA, norm="l1")
    with pytest.raises(bf.errors.InputError, match=r"12 weights.*found 3 columns"):
        limit(np.ones((2, 3)))


def test_data_problems_and_brackets_show():
    for record in (DATA, diagonal(), bf.MirrorProblem(bf.potentials.Entropy(), DATA.X, DATA.y)):
        check(record._repr_html_())
    for data in (DATA, LINE, PLANE, CLASSES):
        assert data.plot().axes
    distance = bf.diagnostics.interclass_distance(CLASSES.X, CLASSES.y, 1)
    assert "digits" in check(distance._repr_html_()) and distance.plot().axes
    check(bf.limit(diagonal()).certificate._repr_html_())


def test_parameters_say_shapes():
    start = bf.TwoLayer(30, 4).init(1.0, key=0)
    assert repr(start).startswith("TwoLayerParams(a (30,), W (30, 4); norm ")
    assert "array" in repr(bf.DiagonalNetwork(2).init(0.1, dim=2))
    for params in (
        start,
        bf.DiagonalNetwork(2).init(0.1, dim=50),
        bf.DeepNetwork((3, 5, 5)).init(1.0),
        bf.MatrixFactorisation((2, 3), 6).init(1.0),
        bf.SignedTwoLayer(3, 2).init(1.0),
        bf.limits.f1_max_margin(CLASSES.X[:, :2], CLASSES.y).value,
    ):
        assert "\n" not in repr(params) and len(repr(params)) < 200
        check(params._repr_html_())


EVIL = "<script>alert('x')</script>&\"onload=\""


def test_what_users_write_is_escaped():
    data = bf.Dataset([[1.0, 2.0], [0.5, 1.0]], [1.0, 2.0], EVIL)
    problem = bf.Problem(bf.DiagonalNetwork(2), data, HALF, scale=0.1)
    for markup in (
        data._repr_html_(),
        problem._repr_html_(),
        bf.gradient_flow(problem, t1=1.0)._repr_html_(),
        card(EVIL, [(EVIL, EVIL)]),
        badge(EVIL),
        sparkline([0, 1, 2], [3, 2, 1], EVIL),
    ):
        assert "<script" not in markup and EVIL in check(markup) + " ".join(
            html.unescape(found) for found in re.findall(r'aria-label="([^"]*)"', markup)
        )
    assert escaped(escaped("<")) == "&lt;"


def test_a_card_reads_like_this():
    markup = bf.Dataset([[1.0], [2.0]], [1.0, -1.0], "two")._repr_html_()
    words = [" ".join(part.split()) for part in re.findall(r">([^<>]+)<", markup)]
    assert words == [
        "Dataset: two",
        "samples",
        "n = 2, d = 1",
        "inputs",
        "from 1 to 2",
        "labels",
        "1 of +1, 1 of −1",
        "the labels, by sample",
    ]


def test_digits_are_counted():
    assert digits_of(0.0) == 16 and digits_of(1e-3) == pytest.approx(3)
    assert digits_of(2.0) == digits_of(float("inf")) == digits_of(float("nan")) == 0


def test_curves_that_cannot_be_drawn_are_left_out():
    assert sparkline([0.0], [1.0], "one point") == ""
    assert sparkline([0.0, 1.0], [np.nan, np.inf], "nothing finite") == ""
    assert "logarithmic" in sparkline([0, 1, 2], [1.0, 1e-5, 0.0], "falls")


def test_a_figure_is_drawn_by_its_own_hand():
    import xarray

    from biasflow.experiments import Experiment, draw

    chosen = Experiment(
        "X/fig",
        "a caption",
        {"quick": bf.sweeps.Grid({"x": (1.0, 2.0)})},
        lambda x: xarray.Dataset({"y": 2 * x}),
        lambda data: data,
        lambda data: ("drawn", data["y"].values.tolist()),
        (),
    )
    assert draw(chosen) == ("drawn", [2.0, 4.0])


def test_flows_say_their_tolerance():
    flow = bf.gradient_flow(diagonal(), t1=1.0, rtol=1e-6)
    assert flow.to_xarray().attrs["rtol"] == 1e-6 and "rtol 1e-06" in repr(flow)


def test_pictures_are_pictures_in_notebooks():
    """A figure that pyplot did not make is a line of text there, until something loads the inline
    backend: `_repr_png_` is asked first."""
    for shown in (DATA, bf.limit(diagonal()), bf.verify("W/lem1")):
        assert shown.plot()._repr_png_().startswith(b"\x89PNG")
    figure = bf.experiments.experiment("R/fig1").draw(bf.figure("R/fig1", progress=False))
    assert hasattr(figure, "_repr_png_")


def test_what_diagnostics_find_fits_on_a_few_lines():
    """A linearised flow had 22 000 letters, an ascent 18 000, a grid 13 000."""
    flow = bf.gradient_flow(diagonal())
    model, X = bf.TwoLayer(50, 2), np.linspace(-1, 1, 60).reshape(30, 2)
    params = model.init(1.0, key=0)
    measure = bf.models.sphere_measure(model, params)
    found = [
        bf.diagnostics.time_to(flow, loss=1e-6),
        bf.diagnostics.convergence_bounds(flow.problem, flow),
        bf.diagnostics.local_bounds(flow.problem),
        bf.diagnostics.commuting_defect(flow.problem.model, flow.problem.start),
        *bf.diagnostics.phases(flow),
        *bf.diagnostics.clusters(params),
        *bf.diagnostics.kinks(params),
        bf.diagnostics.margin_bound(X, 0.1),
        bf.limits.linearised_flow(model, params, X, X[:, 0]),
        bf.limits.homogeneity(model, params, X),
        measure,
        bf.models.transport_growth(measure, X, np.sign(X[:, 0]), np.ones(30)),
        bf.training.feature_ascent(np.eye(4), 100),
        bf.sweeps.Grid({"scale": np.linspace(0, 1, 1000)}),
        bf.experiments.experiment("W/fig1"),
    ]
    assert all(len(repr(one)) < 600 for one in found)
    assert repr(found[0]).startswith("loss ≤ 1e-06 at t = ")
    assert "eigenvectors (30, " in repr(found[-7])
