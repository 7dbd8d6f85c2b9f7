"""What `biasflow doctor` says."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from ..sweeps import cache_folder, data_folder, environment
from ..sweeps.versions import installed_version

EXTRAS = (
    ("equinox", ("equinox",), "probes of equinox modules; any JAX function is probed without it"),
    (
        "dask",
        ("dask", "distributed", "dask-jobqueue"),
        "sweeps on Dask and Slurm (`biasflow sweep run --engine dask`)",
    ),
    ("torch", ("torch", "safetensors"), "probes of PyTorch modules and of weights in files"),
    ("flax", ("flax",), "probes of Flax modules"),
    ("keras", ("keras",), "probes of Keras models, on JAX or PyTorch"),
    ("notebook", ("cloudpickle",), "sweeps in processes over functions defined in a notebook"),
    ("parquet", ("pyarrow",), "image data in parquet files; other layouts are read without it"),
    ("sklearn", ("scikit-learn",), "estimators for scikit-learn (`bf.estimators`)"),
    (
        "explore",
        ("starlette", "uvicorn", "websockets"),
        "the page of `biasflow explore`; its exports need nothing",
    ),
    ("dev", ("cvxpy", "scikit-learn", "hypothesis", "pytest"), "the test suite and the benchmarks"),
    ("docs", ("furo", "myst-parser", "sphinx", "sphinx-gallery"), "the site (`make docs`)"),
)


def diagnosis() -> str:
    sections = (
        ("system", _system()),
        ("versions", _versions()),
        ("extras", _extras()),
        ("devices", _devices()),
        ("precision", _precision()),
        ("locations", _locations()),
    )
    return "\n".join(
        f"{title}\n" + "\n".join(f"  {line}" for line in lines) for title, lines in sections
    )


def _system() -> Iterator[str]:
    full = sys.platform == "linux"
    name = f"{platform.system()} {platform.machine()}"
    yield f"{name}: " + (
        "fully supported"
        if full
        else "the core set of tests is for it; SUPPORT.md says what that is"
    )
    if not full:
        yield (
            "no prctl and no affinity: workers of a driver that was killed end by a thread that "
            "watches it, and every core is counted (--workers says how many to use)"
        )
    if not Path("/proc/self/stat").exists():
        yield (
            "no /proc: the lock that a killed driver left in a store counts until its process "
            "number is free, or a minute without a sign"
        )
    if find_spec("fcntl") is None:
        yield (
            "no fcntl: processes that need the same kernels at once each compile them; `biasflow "
            "warm` beforehand saves that"
        )


def _versions() -> Iterator[str]:
    for name, version in environment().items():
        yield f"{name:<12}{version}"
    for name in ("typer", "rich"):
        yield f"{name:<12}{installed_version(name) or 'not installed'}"


def _extras() -> Iterator[str]:
    for extra, packages, feature in EXTRAS:
        versions = {name: installed_version(name) for name in packages}
        missing = [name for name, version in versions.items() if version is None]
        present = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
        if missing:
            advice = (
                f"missing {', '.join(missing)}: needed for {feature}; pip install "
                f"'biasflow[{extra}]'"
            )
            yield f"{extra:<12}{advice}" + (f" (present: {present})" if present else "")
        else:
            yield f"{extra:<12}{present}: {feature}"


def _devices() -> Iterator[str]:
    yield f"cpu         {os.cpu_count()} cores"
    if installed_version("jax"):
        try:
            import jax

            yield "jax         " + ", ".join(
                f"{device.platform}:{device.id} {device.device_kind}" for device in jax.devices()
            )
        # a broken driver raises whatever it likes, and the doctor must still report
        except Exception as reason:
            yield f"jax         unusable: {reason}"


def _precision() -> Iterator[str]:
    yield "numpy       float64 throughout"
    if installed_version("jax"):
        try:
            import jax

            state = (
                "on"
                if jax.numpy.zeros(1).dtype == "float64"
                else "off in this process; biasflow switches it on where it runs JAX"
            )
            yield f"jax x64     {state}"
        except Exception as reason:
            yield f"jax x64     unknown: {reason}"


def _locations() -> Iterator[str]:
    yield f"cache       {_folder(cache_folder(), 'BIASFLOW_CACHE')}"
    yield f"data        {_folder(data_folder(), 'BIASFLOW_DATA')}"


def _folder(path: Path, variable: str) -> str:
    source = (
        f"from {variable}" if os.environ.get(variable) else f"default; {variable} names another"
    )
    try:
        path = path.absolute()
    except OSError as reason:
        return (
            f"{path} ({source}): not usable, since the current folder is gone ({reason.strerror})"
        )
    existing = next((folder for folder in (path, *path.parents) if folder.exists()), Path("/"))
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        return f"{path} ({source}): not writable"
    return f"{path} ({source}){'' if path.exists() else ', not there yet'}"
