"""Kernels of PyTorch networks against torch.func's Jacobian, and probes of what people train."""

import copy
import subprocess
import sys

import numpy as np
import pytest

import biasflow as bf
from biasflow.limits.tangent import gradient_features
from biasflow.limits.tangent.inputs import read_inputs
from biasflow.limits.tangent.tangent_kernels import tangent

torch = pytest.importorskip("torch")
nn = torch.nn
pytestmark = pytest.mark.frameworks
RNG = np.random.default_rng(0)
IMAGES = RNG.standard_normal((6, 3, 8, 8))
TOKENS = RNG.integers(11, size=(6, 7))
LABELS = np.arange(6) % 4


class Attention(nn.Module):
    """A tiny transformer: tokens and a mask in, one logit for every word and place out."""

    def __init__(self, words=11, width=8, tied=False):
        super().__init__()
        self.words, self.place = nn.Embedding(words, width), nn.Parameter(torch.randn(7, width))
        layer = nn.TransformerEncoderLayer(width, 2, 12, dropout=0.1, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, words, bias=False)
        if tied:
            self.head.weight = self.words.weight

    def forward(self, input_ids, attention_mask=None):
        hidden = self.words(input_ids) + self.place[: input_ids.shape[1]]
        padding = None if attention_mask is None else attention_mask == 0
        logits = self.head(self.blocks(hidden, src_key_padding_mask=padding))
        return type("Output", (), {"logits": logits})()


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 6, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(6)
        self.second = nn.Conv2d(6, 6, 3, padding="same", padding_mode="circular", dilation=2)
        self.third = nn.Conv2d(6, 8, 3, stride=2, padding=1)
        self.skip = nn.Conv2d(6, 8, 1, stride=2)
        self.groups = nn.Conv2d(8, 8, 3, groups=2)
        self.standard = nn.GroupNorm(2, 8)
        self.relu, self.read = nn.ReLU(inplace=True), nn.Linear(8, 4)

    def forward(self, images):
        x = self.relu(self.norm(self.first(images)))
        x = self.relu(self.second(x))
        x = self.relu(self.third(x) + self.skip(x))
        return self.read(self.standard(self.groups(x)).mean((2, 3)))


class Twice(nn.Module):
    """One layer called twice, one whose weight is used behind its back."""

    def __init__(self):
        super().__init__()
        self.inner, self.other, self.read = nn.Linear(5, 5), nn.Linear(5, 5), nn.Linear(5, 3)

    def forward(self, X):
        hidden = torch.tanh(self.inner(torch.tanh(self.inner(X))))
        hidden = self.other(hidden) @ self.other.weight
        return self.read(hidden)


class Again(nn.Module):
    """Convolutions called twice: on images of one size, and of two."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, padding=1)
        self.same = nn.Conv2d(4, 4, 3, padding=2, dilation=2, groups=2)
        self.other = nn.Conv2d(4, 4, 3, stride=2, padding=1, bias=False)
        self.read = nn.Linear(4, 3)

    def forward(self, images):
        x = torch.tanh(self.first(images))
        x = x + torch.tanh(self.same(torch.tanh(self.same(x))))
        x = torch.tanh(self.other(torch.tanh(self.other(x))))
        return self.read(x.mean((2, 3)))


def grouped():
    """Groups with many and with few columns, a depthwise layer, strides that differ by axis."""
    return nn.Sequential(
        nn.Conv2d(3, 12, 3, stride=(2, 1), padding=(1, 0), groups=3),
        nn.Tanh(),
        nn.Conv2d(12, 12, (3, 2), groups=12, bias=False),
        nn.Tanh(),
        nn.Conv2d(12, 30, 2, stride=2, groups=2),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(60, 3),
    )


def settled(module):
    """In evaluation mode, with running means that are not the ones of a fresh layer."""
    torch.manual_seed(1)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2.0)
        if isinstance(part, (nn.BatchNorm2d, nn.GroupNorm, nn.LayerNorm)):
            nn.init.normal_(part.weight)
    return module.eval()


def made(kind):
    torch.manual_seed(0)
    return {
        "dense": lambda: (nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)), X5),
        "residual": lambda: (settled(Residual()), IMAGES),
        "sequence": lambda: (
            nn.Sequential(nn.Conv1d(3, 5, 3, 2, 1), nn.Tanh(), nn.Flatten(), nn.Linear(160, 3)),
            IMAGES.reshape(6, 3, 64),
        ),
        "volume": lambda: (
            nn.Sequential(nn.Conv3d(3, 2, 2, 2, dilation=2), nn.Tanh(), nn.Flatten(1)),
            RNG.standard_normal((6, 3, 4, 4, 5)),
        ),
        "transformer": lambda: (settled(Attention()), {"input_ids": TOKENS}),
        "masked": lambda: (
            settled(Attention()),
            {"input_ids": TOKENS, "attention_mask": (np.arange(7) < 4 + np.arange(6)[:, None] % 3)},
        ),
        "tied": lambda: (settled(Attention(tied=True)), {"input_ids": TOKENS}),
        "twice": lambda: (Twice(), X5),
        "again": lambda: (Again(), IMAGES),
        "grouped": lambda: (grouped(), IMAGES),
        "up": lambda: (
            nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh(), nn.ConvTranspose2d(4, 1, 2), nn.Flatten()),
            IMAGES[..., :4, :4],
        ),
    }[kind]()


X5 = RNG.standard_normal((6, 5))
KINDS = (
    *("dense", "residual", "sequence", "volume", "transformer", "masked", "tied", "twice"),
    *("again", "grouped", "up"),
)


def jacobian(module, X):
    """(n, outputs, weights), by torch.func on a double copy, and the names of the weights."""
    module = copy.deepcopy(module).double()
    named = X if isinstance(X, dict) else {"X": X}
    tensors = {name: torch.as_tensor(part) for name, part in named.items()}
    weights = {name: p for name, p in module.named_parameters() if p.requires_grad}

    def called(w):
        args, rest = ((), tensors) if isinstance(X, dict) else (tuple(tensors.values()), {})
        out = torch.func.functional_call(module, w, args, rest)
        out = getattr(out, "logits", out)
        if "attention_mask" in tensors:
            out = out * tensors["attention_mask"][:, :, None]
        return out.reshape(len(out), -1)

    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        found = torch.func.jacrev(called)(weights)
    return {name: rows.detach().flatten(2).numpy() for name, rows in found.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_kernels_are_those_of_the_jacobian(kind):
    module, X = made(kind)
    rows = jacobian(module, X)
    J = np.concatenate(list(rows.values()), axis=2)
    n, m, _ = J.shape
    full = J.reshape(n * m, -1) @ J.reshape(n * m, -1).T
    trace = np.einsum("iop,jop->ij", J, J)
    size = np.max(np.abs(full))
    for memory in (2**30, 5e6 if kind in ("transformer", "masked", "tied") else 1e6):
        K = bf.tangent_kernel(module, module, X, output="trace", memory_b=memory)
        np.testing.assert_allclose(K, trace, atol=1e-10 * size * m)
        assert np.array_equal(K, K.T)
    if m <= 12:
        K = bf.tangent_kernel(module, module, X, output="all")
        np.testing.assert_allclose(K, full, atol=1e-10 * size)
    at = tangent(module, module, read_inputs(X), "all")
    by_leaf, by_output = at.kernels(read_inputs(X), None, range(len(at.leaves)), True)
    for k, name in enumerate(at.function.names):
        expected = np.einsum("iop,jop->ij", rows[name], rows[name])
        np.testing.assert_allclose(by_leaf[k], expected, atol=1e-10 * size * m, err_msg=name)
    np.testing.assert_allclose(by_output, np.einsum("iop,jop->oij", J, J), atol=1e-10 * size * m)


@pytest.mark.parametrize("kind", ["residual", "transformer", "twice"])
def test_derivatives_along_a_step(kind):
    module, X = made(kind)
    inputs = read_inputs(X)
    at = tangent(module, module, inputs, "all")
    step = tuple(RNG.standard_normal(leaf.shape) for leaf in at.leaves)
    J = jacobian(module, X)
    expected = sum(J[name] @ v.ravel() for name, v in zip(at.function.names, step, strict=True))
    np.testing.assert_allclose(at.function.slopes(at.leaves, inputs, step), expected, rtol=1e-9)
    tensors = at.function._tensors(step)
    along = at.function._along(at.leaves, inputs, tensors).detach().numpy()
    np.testing.assert_allclose(along, expected, rtol=1e-8, atol=1e-10)
    c = RNG.standard_normal(expected.shape)
    for name, found in zip(
        at.function.names, at.function.pulled(at.leaves, inputs, c), strict=True
    ):
        np.testing.assert_allclose(
            found.ravel(), np.einsum("io,iop->p", c, J[name]), rtol=1e-8, atol=1e-10
        )


def test_layers_are_taken_apart_and_the_rest_is_not():
    """What a layer's parts do not explain is taken as it is: weights used behind its back,
    positions that are no layer's."""
    for kind, whole in (
        ("dense", set()),
        ("twice", {"other.weight", "other.bias"}),
        ("residual", set()),
        ("grouped", set()),
        ("again", set()),
        ("up", {"2.weight", "2.bias"}),
    ):
        module, X = made(kind)
        at = tangent(module, module, X, "all")
        plan = at.function._planned(at.leaves, X)
        names = {at.function.names[u.leaves[0]] for u in plan.units if u.layer is None}
        assert names == whole, kind


@pytest.mark.parametrize("kind", ["residual", "sequence", "again", "grouped", "transformer"])
@pytest.mark.parametrize("working", [2**27, 3000])
def test_every_order_of_the_products_gives_the_same(kind, working, monkeypatch):
    """Places first and gradients formed, in one block and in many, of inputs with themselves and
    with others."""
    monkeypatch.setattr(gradient_features, "WORKING", working)
    module, X = made(kind)
    J = np.concatenate(list(jacobian(module, X).values()), axis=2)[:, :3]
    n, m, _ = J.shape
    full = J.reshape(n * m, -1) @ J.reshape(n * m, -1).T
    at = tangent(module, module, read_inputs(X), list(range(3)))
    inputs = read_inputs(X)
    for first in (True, False):

        def chosen(part, full, first=first):
            return part.places or (first and part.groups == 1)

        monkeypatch.setattr(gradient_features.Shared, "by_places", chosen)
        for columns in (None, inputs[: n - 2]):
            last = n if columns is None else n - 2
            trace = np.einsum("iop,jop->ij", J, J[:last])
            np.testing.assert_allclose(at.kernel(inputs, columns), trace, rtol=1e-9, atol=1e-10)
            K = at.full_kernel(inputs, columns)
            np.testing.assert_allclose(K, full[:, : last * m], rtol=1e-9, atol=1e-10)


def test_memory_is_a_limit():
    module = nn.Sequential(nn.Linear(50, 400), nn.ReLU(), nn.Linear(400, 400), nn.Linear(400, 5))
    X = RNG.standard_normal((40, 50))
    exact = bf.tangent_kernel(module, module, X, output="trace")
    at = tangent(module, module, X, "all", 1e6)
    assert len(at.function.portions(at.leaves, X, at.memory)) > 1
    np.testing.assert_allclose(at.kernel(X), exact, rtol=1e-10, atol=1e-12)
    K = bf.tangent_kernel(module, module, X, X[:7] + 1, output="trace", memory_b=1e6)
    np.testing.assert_allclose(
        K, bf.tangent_kernel(module, module, X, X[:7] + 1, output="trace"), rtol=1e-10, atol=1e-12
    )


MEASURED = """
import numpy as np, torch
import biasflow as bf
from biasflow.limits.tangent import gradient_features, tangent_kernels, torch_modules
for room in (gradient_features, torch_modules):
    room.WORKING = 2**24
tangent_kernels.ASIDE = 3 * 2**24
nn = torch.nn
torch.manual_seed(0)
torch.set_num_threads(1)
inner = [layer for _ in range(3) for layer in (nn.Conv2d(48, 48, 3, padding=1), nn.ReLU())]
net = nn.Sequential(
    nn.Conv2d(3, 48, 3, padding=1), nn.ReLU(), *inner,
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 10),
)
X = np.random.default_rng(0).standard_normal((64, 3, 16, 16))
def peak():  # getrusage's begins with that of the process that started this one
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * next(float(line.split()[1]) for line in lines if line.startswith("VmHWM"))
bf.tangent_kernel(net, net, X[:2], output="trace")
before = peak()
K = bf.tangent_kernel(net, net, X, output="trace", memory_b=MEMORY)
print(peak() - before, float(np.linalg.norm(K)))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_memory_of_a_process_stays_below_its_limit():
    """Features of all layers at all inputs take 320 MB; under 200 MB, of which a quarter is for the
    rest, they are made in portions."""
    found = []
    for memory in (0.2e9, 2e9):
        command = [sys.executable, "-c", MEASURED.replace("MEMORY", str(memory))]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append([float(word) for word in done.stdout.split()])
    (small, norm), (large, same) = found
    assert small < 0.2e9 < large, found
    assert norm == pytest.approx(same, rel=1e-10)


def test_large_networks_are_computed_in_single_precision():
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Linear(20, 1000), nn.ReLU(), nn.Linear(1000, 1000), nn.Linear(1000, 2)
    )
    X = RNG.standard_normal((5, 20))
    at = tangent(module, module, X, "all")
    assert not at.function.double and "single precision" in at.function.notes[0]
    J = np.concatenate(list(jacobian(module, X).values()), axis=2)
    expected = np.einsum("iop,jop->ij", J, J)
    assert np.linalg.norm(at.kernel(X) - expected) <= 1e-5 * np.linalg.norm(expected)


def test_a_sketch_is_the_trace_kernel_within_its_stated_error():
    module, X = made("transformer")
    inputs = read_inputs(X)
    exact = bf.tangent_kernel(module, module, X, output="trace")
    off, stated = [], []
    for key in range(6):
        at = tangent(module, module, inputs, bf.regime.Sketch(24, key=key))
        off.append(np.linalg.norm(at.kernel(inputs) - exact) / np.linalg.norm(exact))
        stated.append(at.sketch_error(inputs))
    assert 0.4 <= np.sqrt(np.mean(np.square(off))) / np.mean(stated) <= 2.0, (off, stated)


def trained(scale, rate, width=600, steps=300, key=0):
    """A network of three outputs in the scaling of the tangent kernel's papers: scale·f − f₀."""
    torch.manual_seed(0)
    X = torch.tensor(np.random.default_rng(key).standard_normal((30, 5)))
    y = (X[:, 0] * X[:, 1] > 0).long() + (X[:, 2] > 0.8).long()
    net = nn.Sequential(nn.Linear(5, width), nn.Tanh(), nn.Linear(width, 3)).double()
    for p in net.parameters():
        p.data *= scale
    start = copy.deepcopy(net)
    descent = torch.optim.SGD(net.parameters(), lr=rate)
    for _ in range(steps):
        descent.zero_grad()
        fit(start, net, X, y).backward()
        descent.step()
    return start, net, X, y


def fit(start, net, X, y):
    target = nn.functional.one_hot(y, 3).double()
    return ((net(X) - start(X).detach() - target) ** 2).sum(1).mean()


@pytest.mark.parametrize("key", range(3))
def test_verdicts_where_the_regime_is_known(key):
    """Rich: trained to the end, because a vanishing start first moves along its gradients."""
    start, net, X, y = trained(1.0, 2e-4, width=4000, steps=400, key=key)
    lazy = bf.probe(net, [start, net], X, y, keys=1)
    start, net, X, y = trained(0.05, 0.1, width=100, steps=4000, key=key)
    assert fit(start, net, X, y) < 0.02
    rich = bf.probe(net, [start, net], X, y, keys=1, layers=True)
    assert (lazy.verdict, rich.verdict) == ("kernel", "rich")
    assert lazy.trained.shape == (30, 3)
    assert lazy.final["margin_gap"].value < 0.1 < rich.final["margin_gap"].value
    assert lazy.final["linear_agreement"].value == 1.0
    assert list(rich.layers) == ["0", "2"]
    same = bf.probe(net, [net, net], X, y, keys=1)
    assert same.verdict == "unmoved"


def test_a_network_whose_features_are_frozen_is_a_kernel_machine():
    start, net, X, y = trained(0.05, 0.1, width=100, steps=200)
    frozen = copy.deepcopy(start)
    for p in frozen[0].parameters():
        p.requires_grad_(False)
    moved = copy.deepcopy(frozen)
    moved[2].load_state_dict(net[2].state_dict())
    found = bf.probe(frozen, [start, moved], X, y, keys=1)
    assert found.verdict == "kernel" and found.parameters == 303
    assert found.final["linear_gap"].value < 1e-10


def test_layers_add_up_and_patterns_choose(tmp_path):
    start, net, X, y = trained(0.3, 0.1, width=40, steps=100)
    both = bf.probe(net, [start, net], X, y, keys=2, layers=True, by_output=True, full=[0, 2])
    last = bf.probe(net, [start, net], X, y, keys=2, parameters="2.*")
    first = bf.probe(net, [start, net], X, y, keys=2, parameters=lambda name: name[0] == "0")
    for name in ("kernel_movement", "gradient_distance", "weight_movement", "kernel_turn"):
        assert both.layers["2"][-1][name].value == pytest.approx(last.final[name].value)
        assert both.layers["0"][-1][name].value == pytest.approx(first.final[name].value)
    assert last.final["linear_gap"].value == both.final["linear_gap"].value
    assert len(both.outputs) == 3 and both.final["full_kernel_movement"].value > 0
    one = bf.probe(net, [start, net], X, y, keys=2, output=1)
    for name in ("kernel_movement", "linear_gap", "gradient_distance", "label_gain"):
        assert both.outputs[1][name].value == pytest.approx(one.final[name].value), name
    both.plot_layers().savefig(tmp_path / "layers.png")
    assert all(np.isfinite(value) for value in both.scalars().values())


def test_layers_are_known_where_the_start_hides_them():
    """Behind a head that starts at zero all gradients vanish, whoever says so: a weight that is
    used behind its layer's back is found out at other weights."""
    torch.manual_seed(0)
    net, X = Twice().double(), torch.randn(8, 5, dtype=torch.float64)
    start = copy.deepcopy(net)
    nn.init.zeros_(start.read.weight)
    found = bf.probe(net, [start, net], X, keys=1)
    before, after = (bf.tangent_kernel(at, at, X.numpy(), output="trace") for at in (start, net))
    flat = np.concatenate(list(jacobian(net, X.numpy()).values()), axis=2)
    np.testing.assert_allclose(after, np.einsum("iop,jop->ij", flat, flat), rtol=1e-9)
    moved = np.linalg.norm(after - before) / np.linalg.norm(before)
    assert found.final["kernel_movement"].value == pytest.approx(moved, rel=1e-9)


def test_chance_that_the_start_hides_is_refused():
    """Dropout in front of an adapter whose second weights start at zero."""

    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = nn.Linear(6, 3).requires_grad_(False)
            self.into, self.out = nn.Linear(6, 40, bias=False), nn.Linear(40, 3, bias=False)
            self.drop = nn.Dropout(0.3)
            nn.init.zeros_(self.out.weight)

        def forward(self, X):
            return self.base(X) + self.out(self.drop(self.into(X)))

    torch.manual_seed(0)
    start, X = Adapted(), RNG.standard_normal((8, 6))
    end = copy.deepcopy(start)
    nn.init.normal_(end.out.weight)
    with pytest.raises(bf.errors.InputError, match=r"checkpoints\[1\].*or on chance"):
        bf.probe(start, [start, end], X, keys=1)
    assert bf.probe(start.eval(), [start, end], X, keys=1).verdict in ("kernel", "between", "rich")


def test_units_in_opposite_pairs_are_no_chance():
    """At the start all predictions are rounding, and differ with the inputs beside them."""
    torch.manual_seed(0)
    start = nn.Sequential(nn.Linear(7, 300), nn.ReLU(), nn.Linear(300, 1, bias=False)).double()
    with torch.no_grad():
        start[0].weight[150:], start[0].bias[150:] = start[0].weight[:150], start[0].bias[:150]
        start[2].weight[:, 150:] = -start[2].weight[:, :150]
    end = copy.deepcopy(start)
    nn.init.normal_(end[2].weight)
    X = np.random.default_rng(0).standard_normal((12, 7))
    assert bf.probe(start, [start, end], X, keys=1).final["linear_gap"].value < 1e-10


class TestCheckpoints:
    def probed(self, net, checkpoints, X, y, **options):
        return bf.probe(net, checkpoints, X, y, keys=1, **options).final["linear_gap"].value

    def test_modules_states_and_files_are_the_same(self, tmp_path):
        safetensors = pytest.importorskip("safetensors.torch")
        start, net, X, y = trained(0.3, 0.1, width=40, steps=50)
        expected = self.probed(net, [start, net], X, y)
        safetensors.save_file(start.state_dict(), tmp_path / "start.safetensors")
        torch.save(net.state_dict(), tmp_path / "end.pt")
        torch.save({"state_dict": net.state_dict(), "epoch": 3}, tmp_path / "end.ckpt")
        paths = [tmp_path / "start.safetensors", tmp_path / "end.pt"]
        assert self.probed(net, paths, X, y) == expected
        assert self.probed(net, [str(paths[0]), tmp_path / "end.ckpt"], X, y) == expected
        wrapped = {f"_orig_mod.{name}": t for name, t in net.state_dict().items()}
        assert self.probed(net, [start.state_dict(), wrapped], X, y) == expected

    def test_files_that_are_refused(self, tmp_path):
        start, net, X, y = trained(0.3, 0.1, width=4, steps=1)

        class Evil:
            def __reduce__(self):
                return (open, (str(tmp_path / "ran"), "w"))

        torch.save({"state_dict": Evil()}, tmp_path / "evil.pt")
        (tmp_path / "text.safetensors").write_text("nothing")
        (tmp_path / "weights.onnx").write_text("nothing")
        for file, words in (
            ("evil.pt", "more than weights"),
            ("text.safetensors", "no safetensors file"),
            ("weights.onnx", "expected .safetensors"),
            ("nowhere.pt", "no file"),
        ):
            with pytest.raises(bf.errors.InputError, match=words):
                self.probed(net, [start, tmp_path / file], X, y)
        assert not (tmp_path / "ran").exists()

    def test_running_means(self):
        module, X = made("residual")
        later = copy.deepcopy(module)
        for part in later.parameters():
            part.data += 0.1 * torch.randn_like(part)
        later.norm.running_mean += 1.0
        with pytest.raises(bf.errors.InputError, match=r"running_mean.*buffers='last'"):
            self.probed(module, [module, later], X, LABELS)
        last = self.probed(module, [module, later], X, LABELS, buffers="last")
        start = copy.deepcopy(module)
        start.norm.running_mean.copy_(later.norm.running_mean)
        assert last == self.probed(module, [start, later], X, LABELS)


class TestBadInput:
    def refused(self, words, net, checkpoints, X, **options):
        with pytest.raises(bf.errors.InputError, match=words):
            bf.probe(net, checkpoints, X, keys=1, **options)

    def test_is_named(self):
        module, X = made("dense")
        deeper = nn.Sequential(*module, nn.Linear(3, 3))
        self.refused("another architecture", module, [module, deeper], X)
        self.refused("no tensor '3.weight'", deeper, [deeper, module], X)
        wider = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
        self.refused(r"0.weight has shape \(8, 5\)", module, [module, wider], X)
        broken = copy.deepcopy(module)
        broken[0].weight.data[0, 0] = float("nan")
        self.refused("diverged", module, [module, broken], X)
        self.refused("they are 0.weight", module, [module, module], X, parameters="lora_*")
        dropping = nn.Sequential(nn.Linear(5, 7), nn.Dropout(0.5), nn.Linear(7, 3))
        self.refused("chance", dropping, [dropping, dropping], X)
        normed = nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.Linear(7, 3))
        self.refused("inference mode|training mode", normed, [normed, normed], X)
        self.refused("y: class 3", module, [module, module], X, y=np.arange(6) % 4)
        self.refused("different lengths", module, [module] * 2, {"a": X, "b": X[:3]})
        self.refused("expected a module", module, [module, 3.0], X)

    def test_outputs_that_are_no_arrays(self):
        class Pair(nn.Linear):
            def forward(self, X):
                return super().forward(X), X

        class Hard(nn.Linear):
            def forward(self, X):
                return super().forward(X).argmax(1)

        for kind, words in ((Pair, "returned tuple"), (Hard, "has no gradients")):
            module = kind(5, 3)
            self.refused(words, module, [module, module], X5)

    def test_half_precision_is_noted(self):
        module, X = made("dense")
        start = copy.deepcopy(module)
        module[0].weight.data += 0.3
        half = copy.deepcopy(module).half()
        found = bf.probe(half, [start, half], X, keys=1)
        assert any("float16" in note for note in found.notes) and "float16" in found.describe()
