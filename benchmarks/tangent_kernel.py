"""Tangent kernels without the Jacobian, against JAX's full Jacobian and PyTorch's: seconds and peak
memory.

Every row is computed in a process of its own, with one thread, because peak memory is a process's:
what it holds after imports is subtracted.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from typing import Any

from timing import arguments, best_of, missing, table

DIM = 784
PEER_INPUTS = 200


def network(width: int, n: int) -> tuple[Any, Any]:
    """Weights of a two-layer ReLU network and inputs the size of small images."""
    import numpy as np

    rng = np.random.default_rng(0)
    weights = rng.standard_normal((DIM, width)) / DIM**0.5, rng.standard_normal(width) / width**0.5
    return weights, rng.standard_normal((n, DIM))


def relu_network(weights: Any, X: Any) -> Any:
    import jax

    return jax.nn.relu(X @ weights[0]) @ weights[1]


def ours(width: int, n: int) -> Any:
    import biasflow as bf

    weights, X = network(width, n)
    return lambda: bf.tangent_kernel(relu_network, weights, X)


def jax_jacobian(width: int, n: int) -> Any:
    """The Jacobian by reverse mode, as JAX gives it, then its Gram matrix."""
    import jax
    import numpy as np

    jax.config.update("jax_enable_x64", True)
    weights, X = network(width, n)
    jacobian = jax.jit(
        jax.vmap(jax.grad(lambda w, x: relu_network(w, x[None])[0]), in_axes=(None, 0))
    )

    def kernel() -> Any:
        rows = [np.asarray(leaf).reshape(n, -1) for leaf in jacobian(weights, X)]
        return sum(row @ row.T for row in rows)

    return kernel


def torch_jacobian(width: int, n: int) -> Any:
    """The same by PyTorch's torch.func."""
    import torch

    torch.set_num_threads(1)
    weights, X = network(width, n)
    tensors = [torch.as_tensor(part) for part in (*weights, X)]
    gradients = torch.func.vmap(
        torch.func.grad(lambda w, a, x: torch.relu(x @ w) @ a, argnums=(0, 1)),
        in_dims=(None, None, 0),
    )

    def kernel() -> Any:
        rows = [leaf.reshape(n, -1) for leaf in gradients(*tensors)]
        return sum(row @ row.T for row in rows).numpy()

    return kernel


METHODS = {"biasflow": ours, "JAX Jacobian": jax_jacobian, "PyTorch Jacobian": torch_jacobian}


def measured(name: str, width: int, n: int) -> dict[str, float]:
    """Seconds after compiling, peak memory above the imports in MB, and a checksum of the kernel,
    from a fresh process."""
    done = subprocess.run(
        [sys.executable, __file__, "--row", name, str(width), str(n)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def row(name: str, width: int, n: int) -> None:
    import numpy as np

    METHODS[name](4, 4)()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kernel = METHODS[name](width, n)
    kernel()
    seconds, K = best_of(2, kernel)
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps({"s": seconds, "MB": peak, "sum": float(np.linalg.norm(K))}))


def main(quick: bool) -> None:
    rows, large = [], []
    methods = dict(METHODS)
    if missing("torch", "PyTorch's Jacobian"):
        del methods["PyTorch Jacobian"]
    for width in (50, 200) if quick else (50, 200, 1000):
        base = measured("biasflow", width, PEER_INPUTS)
        for name in methods:
            found = base if name == "biasflow" else measured(name, width, PEER_INPUTS)
            jacobian = 8 * PEER_INPUTS * width * (DIM + 1) / 2**20
            ratios = [f"{found[key] / base[key]:.1f}x" for key in ("s", "MB")]
            off = abs(found["sum"] / base["sum"] - 1)
            rows.append(
                [
                    str(width),
                    name,
                    f"{found['s']:.2f}",
                    ratios[0],
                    f"{found['MB']:.0f}",
                    ratios[1],
                    f"{jacobian:.0f}",
                    f"{off:.0e}",
                ]
            )
    columns = ["units", "method", "s", "ratio", "peak MB", "ratio", "Jacobian MB", "off by"]
    table(
        f"Tangent kernel of a two-layer network, {PEER_INPUTS} inputs of dimension {DIM}",
        columns,
        rows,
    )
    for width, n in ((1000, 500),) if quick else ((1000, 1000), (5000, 1000), (5000, 2000)):
        found = measured("biasflow", width, n)
        jacobian = 8 * n * width * (DIM + 1) / 2**20
        large.append(
            [
                str(width),
                str(n),
                f"{found['s']:.2f}",
                f"{found['MB']:.0f}",
                f"{jacobian:.0f}",
                f"{jacobian / found['MB']:.0f}x",
            ]
        )
    columns = ["units", "inputs", "s", "peak MB", "Jacobian MB", "ratio"]
    table(
        "Larger ones, default memory of 1024 MB for blocks of gradients",
        columns,
        large,
        "The Jacobian is never held.",
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--row"]:
        row(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main(arguments(__doc__ or "").quick)
