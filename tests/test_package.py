import email
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import biasflow as bf

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SCRIPTS = Path(sys.executable).parent
HEAVY = ("jax", "numba", "cvxpy", "xarray", "matplotlib")
EXTRAS = ("jax", "equinox", "dask", "distributed", "torch", "cvxpy", "sklearn", "hypothesis")
EXTRAS += ("flax", "keras", "safetensors")
EXTRAS += ("starlette", "uvicorn", "websockets")

WITHOUT_EXTRAS = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
import biasflow
import biasflow.cli, biasflow.report, biasflow.sweeps
print(biasflow.__file__)
"""


def python(code: str, *, cwd: Path, path: Path | None = None) -> str:
    """What a fresh interpreter prints."""
    environment = {**os.environ, "PYTHONPATH": str(path)} if path else dict(os.environ)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("module", ["biasflow", "biasflow.sweeps", "biasflow.cli"])
def test_importing_loads_nothing_heavy(module, tmp_path):
    loaded = python(
        f"import sys, {module}; print(*[name for name in {HEAVY!r} if name in sys.modules])",
        cwd=tmp_path,
    )
    assert loaded == ""


def test_models_are_named_without_scipy(tmp_path):
    code = "import sys, biasflow as bf; bf.DiagonalNetwork(2); print('scipy' in sys.modules)"
    assert python(code, cwd=tmp_path) == "False"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (source / "docs").mkdir()
    pages = ("docs/errata.md", "docs/sharpness.md")  # which the wheel brings
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE", *pages):
        shutil.copy(ROOT / name, source / name)
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder),
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_every_module_and_the_page_of_the_report(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    sources = {
        f"biasflow/{p.relative_to(ROOT / 'src/biasflow').as_posix()}"
        for p in (ROOT / "src/biasflow").rglob("*.py")
    }
    shipped = {
        f"biasflow/experiments/regimes/shipped/{name}"
        for name in ("fig4e-3.nc", "fig4f-3.nc", "scales-1.nc")
    }
    shipped |= {
        f"biasflow/experiments/margin/shipped/fig2-{preset}.nc" for preset in ("paper", "code")
    }
    assert (
        sources
        | shipped
        | {"biasflow/report/page.html.j2", "biasflow/report/page.css", "biasflow/py.typed"}
        <= held
    )
    assert not [name for name in held if name.startswith(("tests", "docs"))]


def test_the_wheel_says_what_it_is(wheel):
    with zipfile.ZipFile(wheel) as held:
        names = {Path(name).name: name for name in held.namelist() if ".dist-info/" in name}
        said = email.message_from_bytes(held.read(names["METADATA"]))
        commands = held.read(names["entry_points.txt"]).decode()
    assert said["Name"] == "biasflow" and said["Version"] == bf.__version__
    assert said["License-Expression"] == "MIT" and {"LICENSE", "NOTICE"} <= set(names)
    assert said.get_all("License-File") == ["LICENSE", "NOTICE"]
    assert said["Requires-Python"] == ">=3.11" and said["Author"] == "biasflow contributors"
    assert said["Description-Content-Type"] == "text/markdown"
    assert said.get_payload(decode=True).decode().startswith("# biasflow")
    assert "biasflow = biasflow.cli:main" in commands
    required = [line for line in said.get_all("Requires-Dist") if "extra ==" not in line]
    assert len(required) == len(PROJECT["dependencies"])


def test_the_source_distribution_brings_what_the_repository_has(tmp_path):
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation"]
    done = subprocess.run(
        [*command, "--outdir", str(tmp_path), str(ROOT)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as held:
        names = {name.partition("/")[2] for name in held.getnames()}
    wanted = {"src/biasflow/__init__.pyi", "tests/test_package.py", "docs/errata.md", "Makefile"}
    wanted |= {"LICENSE", "NOTICE", "CITATION.cff", "README.md", "llms.txt", "references.bib"}
    assert wanted | {"docs/images/sliding_film.gif", "tests/core_set.txt"} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith(".venv")]


def test_the_wheel_brings_what_explanations_quote(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "biasflow/theory/pages/errata.md",
        "biasflow/theory/pages/sharpness.md",
        "biasflow/theory/recorded_checks.json",
        "biasflow/cli/ids.txt",
    } <= held


def test_the_wheel_installs_and_imports_without_extras(wheel, tmp_path):
    target = tmp_path / "site"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        str(target),
        str(wheel),
    ]
    subprocess.run(install, check=True, capture_output=True)
    assert Path(python(WITHOUT_EXTRAS, cwd=tmp_path, path=target)).is_relative_to(target)


@pytest.mark.slow
def test_the_wheel_installs_with_its_dependencies_into_a_fresh_environment(wheel, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    scripts = tmp_path / "venv" / "bin"
    subprocess.run(
        [scripts / "python", "-m", "pip", "install", "--quiet", str(wheel)],
        check=True,
        cwd=tmp_path,
    )
    for command, words in (("list", "claims"), ("verify W/thm2", "1 holds"), ("doctor", "system")):
        done = subprocess.run(
            [scripts / "biasflow", *command.split()], capture_output=True, text=True, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        assert words in done.stdout + done.stderr


def lint_imports(folder: Path, package: Path) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(package)}
    command = [SCRIPTS / "lint-imports", "--no-cache", "--config", str(ROOT / "pyproject.toml")]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_layers_import_downwards_only(tmp_path):
    done = lint_imports(tmp_path, ROOT / "src")
    assert done.returncode == 0, done.stdout


def test_an_upward_import_inside_a_function_is_caught(tmp_path):
    copy = shutil.copytree(
        ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__")
    )
    with (copy / "biasflow" / "errors.py").open("a") as file:
        file.write("\n\ndef upward():\n    from .sweeps import store\n\n    return store\n")
    done = lint_imports(tmp_path, copy)
    assert done.returncode == 1 and "biasflow.errors" in done.stdout


def test_the_version_is_one():
    from importlib.metadata import version

    assert PROJECT["version"] == version("biasflow")
