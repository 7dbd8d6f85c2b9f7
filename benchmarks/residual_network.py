"""Tangent kernels of a ResNet-18 on 32×32 images, ten outputs, single precision: seconds and memory
above the loaded framework, against the Jacobian of torch.func and nngeometry; and how they grow.

Every row is computed in a process of its own, because peak memory is a process's.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

from timing import arguments, missing, table

INPUTS = 256
PEER_INPUTS = 16
"""Inputs at which peers are compared: their Jacobian is 0.45 GB an input."""


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


def images(n: int) -> Any:
    import numpy as np

    return np.random.default_rng(0).standard_normal((n, 3, 32, 32)).astype(np.float32)


def ours(n: int, width: int, outputs: int, kind: str, device: str) -> Any:
    import biasflow as bf

    network = residual_network(width, outputs).to(device)
    X = images(n)
    memory = 2.0**36 if device == "cuda" else 1.2e9
    return lambda: bf.tangent_kernel(
        network, network, X, output="trace" if kind == "trace" else "all", memory_b=memory
    )


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


def measured(
    name: str, n: int, width: int, outputs: int, kind: str, device: str
) -> dict[str, float]:
    """From a fresh process."""
    command = [
        sys.executable,
        __file__,
        "--row",
        name,
        *map(str, (n, width, outputs)),
        kind,
        device,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return {"s": float("nan"), "core": float("nan"), "MB": float("nan"), "sum": float("nan")}
    return json.loads(done.stdout.splitlines()[-1])


def row(name: str, n: int, width: int, outputs: int, kind: str, device: str) -> None:
    import numpy as np
    import torch

    torch.set_num_threads(int(os.environ.get("BENCHMARK_THREADS", "2")))
    METHODS[name](4, 8, 2, kind, device)()  # imports and first compilations
    kernel = METHODS[name](n, width, outputs, kind, device)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, worked = time.perf_counter(), time.process_time()
    K = kernel()
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    if device == "cuda":
        peak = torch.cuda.max_memory_allocated() / 2**20
    print(json.dumps({"s": seconds, "core": worked, "MB": peak, "sum": float(np.linalg.norm(K))}))


def _told(found: dict[str, float]) -> list[str]:
    """Seconds on the clock, seconds of processor time, which a busy machine does not change, MB."""
    return [f"{found['s']:.1f}", f"{found['core']:.1f}", f"{found['MB']:.0f}"]


def main(quick: bool) -> None:
    if missing("torch", "the ResNet-18"):
        return
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    rows = []
    n = 4 if quick else PEER_INPUTS
    for kind in ("trace", "full"):
        base = measured("biasflow", n, 64, 10, kind, device)
        for name in METHODS:
            if name == "nngeometry" and (kind == "trace" or missing("nngeometry", "nngeometry's")):
                continue
            found = base if name == "biasflow" else measured(name, n, 64, 10, kind, device)
            off = abs(found["sum"] / base["sum"] - 1)
            rows.append([kind, name, *_told(found), f"{off:.0e}"])
    table(
        f"ResNet-18, {n} images, 10 outputs, on {device}",
        ["kernel", "method", "s", "core s", "peak MB", "off by"],
        rows,
        "The Jacobian's Gram matrix sums eleven million products in single precision at once.",
    )
    large = []
    for kind in ("trace",) if quick else ("trace", "full"):
        count = 16 if quick else INPUTS
        found = measured("biasflow", count, 64, 10, kind, device)
        jacobian = 4 * count * 10 * 11.17e6 / 2**30
        large.append([kind, str(count), *_told(found), f"{jacobian:.0f}"])
    table(
        "The goal: 11 million weights, 10 outputs",
        ["kernel", "images", "s", "core s", "peak MB", "Jacobian GB"],
        large,
    )
    growth = []
    settings = [(16, 64, 10), (32, 64, 10), (64, 64, 10), (32, 32, 10), (32, 64, 1), (32, 64, 5)]
    for count, width, outputs in settings[:2] if quick else settings:
        found = measured("biasflow", count, width, outputs, "trace", device)
        growth.append([str(count), str(width), str(outputs), *_told(found)])
    table(
        "Growth of the trace kernel with images, width and outputs",
        ["images", "width", "outputs", "s", "core s", "peak MB"],
        growth,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--row"]:
        row(sys.argv[2], *map(int, sys.argv[3:6]), *sys.argv[6:8])
    else:
        main(arguments(__doc__ or "").quick)
