"""Tangent kernels of a ResNet-18 on 32×32 images, ten outputs, single precision: seconds and memory
above the loaded framework, against the Jacobian of torch.func and nngeometry; how they grow, and
what the arithmetic alone would take.

On a processor every row is computed in a process of its own, because peak memory is a process's.
`--device cuda` computes on a GPU; `--out FILE` also writes the numbers as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from timing import arguments, exponent, missing, table

INPUTS = 256
PEER_INPUTS = 16
"""Inputs at which peers are compared: their Jacobian is 0.45 GB an input."""
MEMORY_B = {"cpu": 1.8e9, "cuda": 6.4e10}
"""What kernels may take: together with the full kernel's copies below the 2 GB of the goal."""
TOGETHER = 2_400_000
"""Weights whose Jacobian in double precision is held at a time for the exact kernel."""
GROWTH = {
    "images": [(32, 64, 10), (64, 64, 10), (128, 64, 10)],
    "weights": [(32, 16, 10), (32, 32, 10), (32, 64, 10)],
    "outputs": [(32, 64, 1), (32, 64, 3), (32, 64, 10)],
}
"""(images, width, outputs)."""


def residual_network(width: int = 64, outputs: int = 10) -> Any:
    """The ResNet-18 for small images: a 3×3 convolution first, four stages of two blocks each."""
    import torch

    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, incoming: int, outgoing: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(incoming, outgoing, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outgoing)
            self.conv2 = nn.Conv2d(outgoing, outgoing, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outgoing)
            self.skip = nn.Sequential()
            if stride > 1 or incoming != outgoing:
                self.skip = nn.Sequential(
                    nn.Conv2d(incoming, outgoing, 1, stride, bias=False), nn.BatchNorm2d(outgoing)
                )

        def forward(self, x: Any) -> Any:
            inner = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
            return torch.relu(inner + self.skip(x))

    torch.manual_seed(0)
    stages: list[Any] = [
        nn.Conv2d(3, width, 3, 1, 1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
    ]
    incoming = width
    for k in range(4):
        outgoing = width * 2**k
        stages += [Block(incoming, outgoing, 1 if k == 0 else 2), Block(outgoing, outgoing, 1)]
        incoming = outgoing
    return nn.Sequential(
        *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(incoming, outputs)
    ).eval()


def flax_network(width: int = 64, outputs: int = 10) -> tuple[Any, Any]:
    """The same architecture in Flax, and its variables."""
    import flax.linen as nn
    import jax

    def norm() -> Any:
        return nn.BatchNorm(use_running_average=True)

    class Block(nn.Module):
        outgoing: int
        stride: int

        @nn.compact
        def __call__(self, x: Any) -> Any:
            steps = (self.stride, self.stride)
            inner = nn.relu(norm()(nn.Conv(self.outgoing, (3, 3), steps, use_bias=False)(x)))
            inner = norm()(nn.Conv(self.outgoing, (3, 3), use_bias=False)(inner))
            if x.shape != inner.shape:
                x = norm()(nn.Conv(self.outgoing, (1, 1), steps, use_bias=False)(x))
            return nn.relu(inner + x)

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = nn.relu(norm()(nn.Conv(width, (3, 3), use_bias=False)(x)))
            for k in range(4):
                x = Block(width * 2**k, 1 if k == 0 else 2)(x)
                x = Block(width * 2**k, 1)(x)
            return nn.Dense(outputs)(x.mean((1, 2)))

    network = Network()
    start = images(1).transpose(0, 2, 3, 1)
    return network, network.init(jax.random.PRNGKey(0), start)


def images(n: int) -> Any:
    import numpy as np

    return np.random.default_rng(0).standard_normal((n, 3, 32, 32)).astype(np.float32)


def ours(n: int, width: int, outputs: int, kind: str, device: str) -> Any:
    import biasflow as bf

    network = residual_network(width, outputs).to(device)
    X, memory_b = images(n), MEMORY_B["cuda" if device == "cuda" else "cpu"]
    output = "trace" if kind == "trace" else "all"
    return lambda: bf.tangent_kernel(network, network, X, output=output, memory_b=memory_b)


def ours_in_flax(n: int, width: int, outputs: int, kind: str, device: str) -> Any:
    import biasflow as bf

    network, variables = flax_network(width, outputs)
    X, memory_b = images(n).transpose(0, 2, 3, 1), MEMORY_B["cpu"]
    output = "trace" if kind == "trace" else "all"
    return lambda: bf.tangent_kernel(network, variables, X, output=output, memory_b=memory_b)


def torch_func(n: int, width: int, outputs: int, kind: str, device: str) -> Any:
    """The whole Jacobian, then its Gram matrix."""
    import torch

    network = residual_network(width, outputs).to(device)
    X = torch.as_tensor(images(n), device=device)
    weights = {name: p.detach() for name, p in network.named_parameters()}
    buffers = dict(network.named_buffers())

    def one(w: Any, x: Any) -> Any:
        return torch.func.functional_call(network, (w, buffers), (x[None],))[0]

    def kernel() -> Any:
        J = torch.func.vmap(torch.func.jacrev(one), (None, 0))(weights, X)
        rows = [part.flatten(2) for part in J.values()]
        if kind == "trace":
            return sum(torch.einsum("iop,jop->ij", R, R) for R in rows).cpu().numpy()
        return sum(R.flatten(0, 1) @ R.flatten(0, 1).T for R in rows).cpu().numpy()

    return kernel


def exact(n: int, width: int, outputs: int, kind: str, device: str) -> Any:
    """The same in double precision, some tensors at a time, in full."""
    import torch

    network = residual_network(width, outputs).to(device).double()
    X = torch.as_tensor(images(n), device=device).double()
    weights = {name: p.detach() for name, p in network.named_parameters()}
    buffers = dict(network.named_buffers())
    groups: list[dict[str, Any]] = [{}]
    for name, tensor in weights.items():
        if sum(part.numel() for part in groups[-1].values()) + tensor.numel() > TOGETHER:
            groups.append({})
        groups[-1][name] = tensor

    def one(some: Any, x: Any) -> Any:
        everything = {**weights, **some}
        return torch.func.functional_call(network, (everything, buffers), (x[None],))[0]

    def kernel() -> Any:
        K: Any = 0.0
        for some in groups:
            J = torch.func.vmap(torch.func.jacrev(one), (None, 0), chunk_size=4)(some, X)
            rows = [part.flatten(2).flatten(0, 1) for part in J.values()]
            K = K + sum(R @ R.T for R in rows)
        return K.cpu().numpy()

    return kernel


def nngeometry(n: int, width: int, outputs: int, kind: str, device: str) -> Any:
    """Its own Gram matrix of the full kernel; it has no trace kernel."""
    import torch
    from nngeometry.gram import GramMatrix
    from nngeometry.layercollection import LayerCollection

    network = residual_network(width, outputs).to(device)
    X = torch.as_tensor(images(n), device=device)
    layers = LayerCollection.from_model(network)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X), batch_size=n)

    def kernel() -> Any:
        found = GramMatrix(network, loader, lambda x: network(x), layer_collection=layers)
        return found.data.permute(1, 0, 3, 2).reshape(n * outputs, -1).detach().cpu().numpy()

    return kernel


METHODS = {"biasflow": ours, "torch.func": torch_func, "nngeometry": nngeometry}
OTHERS = {"exact": exact, "flax": ours_in_flax}


def products(n: int, width: int, outputs: int, kind: str) -> dict[str, float]:
    """Multiplications, in 10¹²: one pass forth and one back for every output, gradients formed
    where that is the cheaper order, and half of a symmetric kernel."""
    import torch

    network, m = residual_network(width, outputs), outputs
    found = {"forth and back": 0.0, "forming": 0.0, "kernel": 0.0}

    def look(module: Any, given: Any, out: Any) -> None:
        q, P = out.shape[1], out[0].numel() // out.shape[1]
        p = module.weight[0].numel()
        found["forth and back"] += n * (1 + m) * P * p * q
        if kind == "trace":
            formed, first = m * p * q, P * P * (p + m * q)
        else:
            formed, first = m * m * p * q, P * P * p + P * m * q * (P + m)
        forming, pairs = n * m * P * p * q, n * n / 2
        if formed * pairs + forming < first * pairs:
            found["forming"] += forming
            found["kernel"] += formed * pairs
        else:
            found["kernel"] += first * pairs

    for module in network.modules():
        if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
            module.register_forward_hook(look)
    with torch.no_grad():
        network(torch.zeros(1, 3, 32, 32))
    return {name: count / 1e12 for name, count in found.items()}


def rate(device: str) -> float:
    """1e12 multiplications a second of a large product, on all cores that are used."""
    import torch

    torch.set_num_threads(THREADS)
    size = 8192 if device == "cuda" else 2048
    A = torch.ones(size, size, device=device)
    best = float("inf")
    for _ in range(4):
        start = time.perf_counter()
        (A @ A)[0, 0].item()
        best = min(best, time.perf_counter() - start)
    return size**3 / best / 1e12


THREADS = int(os.environ.get("BENCHMARK_THREADS", "2"))


def computed(name: str, n: int, width: int, outputs: int, kind: str, device: str) -> Any:
    """The kernel, seconds on the clock and of the cores, and MB above what was there before."""
    import torch

    torch.set_num_threads(THREADS)
    method = {**METHODS, **OTHERS}[name]
    method(4, 8, 2, kind, device)()  # imports and first compilations
    kernel = method(n, width, outputs, kind, device)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    start, worked = time.perf_counter(), time.process_time()
    K = kernel()
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    if device == "cuda":
        peak = torch.cuda.max_memory_allocated() / 2**20
    return K, {"s": seconds, "core": worked, "MB": peak}


def measured(name: str, n: int, width: int, outputs: int, kind: str, device: str) -> Any:
    """The same, on a processor from a fresh process; nothing where it fails, with what it said."""
    import numpy as np

    if device == "cuda":
        try:
            return computed(name, n, width, outputs, kind, device)
        except RuntimeError as error:
            print(f"{name}: {str(error).splitlines()[0]}", file=sys.stderr)
            return None, {"s": float("nan"), "core": float("nan"), "MB": float("nan")}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.npy"
        setting = (name, *map(str, (n, width, outputs)), kind, device, str(file))
        command = [sys.executable, __file__, "--row", *setting]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(
                f"{name}: {(done.stderr.strip().splitlines() or ['killed'])[-1]}", file=sys.stderr
            )
            return None, {"s": float("nan"), "core": float("nan"), "MB": float("nan")}
        return np.load(file), json.loads(done.stdout.splitlines()[-1])


def row(name: str, n: int, width: int, outputs: int, kind: str, device: str, file: str) -> None:
    import numpy as np

    K, told = computed(name, n, width, outputs, kind, device)
    np.save(file, K)
    print(json.dumps(told))


def _off(K: Any, true: Any) -> float:
    """The largest error of an entry, relative to √(K_ii·K_jj)."""
    import numpy as np

    if K is None or true is None:
        return float("nan")
    size = np.sqrt(np.diag(true))
    return float(np.max(np.abs(K - true) / np.outer(size, size)))


def _told(found: dict[str, float]) -> list[str]:
    """Seconds on the clock, seconds of processor time, which a busy machine does not change, MB."""
    return [f"{found['s']:.1f}", f"{found['core']:.1f}", f"{found['MB']:.0f}"]


def peers(n: int, device: str) -> list[dict[str, Any]]:
    rows, found = [], []
    full, _ = measured("exact", n, 64, 10, "full", device)
    trace = None if full is None else full.reshape(n, 10, n, 10).trace(axis1=1, axis2=3)
    for kind, true in (("trace", trace), ("full", full)):
        for name in METHODS:
            if name == "nngeometry" and (kind == "trace" or missing("nngeometry", "nngeometry")):
                continue
            K, told = measured(name, n, 64, 10, kind, device)
            off = _off(K, true)
            rows.append([kind, name, *_told(told), f"{off:.0e}"])
            found.append({"kernel": kind, "method": name, "images": n, **told, "off": off})
    table(
        f"ResNet-18, {n} images, 10 outputs, on {device}",
        ["kernel", "method", "s", "core s", "peak MB", "off by"],
        rows,
        "off by: the largest error of an entry over √(K_ii·K_jj), against torch.func in double.",
    )
    return found


def goal(count: int, device: str, kinds: tuple[str, ...]) -> list[dict[str, Any]]:
    rows, found, speed = [], [], rate(device)
    for kind in kinds:
        _, told = measured("biasflow", count, 64, 10, kind, device)
        counted = products(count, 64, 10, kind)
        floor = sum(counted.values()) / speed
        jacobian = 4 * count * 10 * 11.17e6 / 2**30
        parts = [f"{value:.2f}" for value in counted.values()]
        rows.append([kind, str(count), *_told(told), *parts, f"{floor:.2g}", f"{jacobian:.0f}"])
        found.append({"kernel": kind, "images": count, **told, **counted, "floor_s": floor})
    table(
        f"The goal: 11 million weights, 10 outputs, on {device}",
        [
            *("kernel", "images", "s", "core s", "peak MB"),
            *("10¹² products: forth and back", "forming", "kernel", "floor s", "Jacobian GB"),
        ],
        rows,
        f"floor s: all of them at {speed:.3g}·10¹² a second, as in a large matrix product here, on "
        f"{THREADS} cores.",
    )
    return found


def growth(device: str, axes: dict[str, Any]) -> list[dict[str, Any]]:
    rows, found = [], []
    measure = "s" if device == "cuda" else "core"
    for axis, settings in axes.items():
        seconds, sizes = [], []
        for count, width, outputs in settings:
            _, told = measured("biasflow", count, width, outputs, "trace", device)
            weights = sum(p.numel() for p in residual_network(width, outputs).parameters())
            sizes.append({"images": count, "weights": weights, "outputs": outputs}[axis])
            seconds.append(told[measure])
            setting = {"images": count, "weights": weights, "outputs": outputs}
            found.append({**setting, **told})
            fit = exponent(sizes, seconds) if len(sizes) == len(settings) else ""
            rows.append([*(f"{value:,}" for value in setting.values()), *_told(told), axis, fit])
    table(
        f"Growth of the trace kernel, on {device}",
        ["images", "weights", "outputs", "s", "core s", "peak MB", "grows with", "exponent"],
        rows,
    )
    return found


def in_flax(n: int) -> list[dict[str, Any]]:
    found, rows = [], []
    for kind in ("trace",):
        _, told = measured("flax", n, 64, 10, kind, "cpu")
        rows.append([kind, str(n), *_told(told)])
        found.append({"kernel": kind, "images": n, **told})
    table(
        "The same network in Flax, compilation included",
        ["kernel", "images", "s", "core s", "peak MB"],
        rows,
    )
    return found


def main(chosen: Any) -> None:
    if missing("torch", "the ResNet-18"):
        return
    quick, device = chosen.quick, chosen.device
    tables = set(chosen.tables or ("peers", "goal", "growth", "flax"))
    found: dict[str, Any] = {"device": device}
    if "peers" in tables:
        found["peers"] = peers(4 if quick else PEER_INPUTS, device)
    if "goal" in tables:
        kinds = ("trace",) if quick else ("trace", "full")
        found["goal"] = goal(16 if quick else chosen.inputs, device, kinds)
    if "growth" in tables:
        axes = {"images": GROWTH["images"][:2]} if quick else GROWTH
        found["growth"] = growth(device, axes)
    if "flax" in tables and device == "cpu" and not missing("flax", "the network in Flax"):
        found["flax"] = in_flax(4 if quick else 32)
    if chosen.out:
        Path(chosen.out).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _more(parser: Any) -> None:
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--inputs", type=int, default=INPUTS, help="images of the goal")
    parser.add_argument("--out", help="a file for the numbers, as JSON")
    parser.add_argument("--tables", nargs="+", help="peers, goal, growth, flax; all without it")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--row"]:
        row(sys.argv[2], *map(int, sys.argv[3:6]), *sys.argv[6:9])
    else:
        main(arguments(__doc__ or "", _more))
