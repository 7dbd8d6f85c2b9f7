"""Which of our modules a result rests on: those that its function's module imports, and theirs,
read without being run.

What counts of a module is its syntax tree: comments, docstrings and layout are not part of it. A
name that a package only hands on (`from ..flows import gradient_flow`) leads to the module that
defines it, so that a package's other modules do not count.
Reading a tree takes milliseconds, and there are hundreds: what was read is remembered by the hash
of the file.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import json
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import platformdirs

from .._core.locations import cache_folder
from .files import StoreError, write_whole

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT.name
SOURCES_FILE = "sources.json"
"""File of a store, or of the user's cache, that remembers trees once read."""
SOURCES_FORMAT = "3"
"""Of that memory, and of what counts of a tree."""


@dataclass(frozen=True)
class Import:
    """`from .module import name as alias`, or `import module` where there is no name; level: how
    many dots."""

    level: int
    module: str
    name: str
    alias: str


@dataclass(frozen=True)
class Source:
    """What counts of a file: a hash of its tree, what it imports, and, of packages, a hash of what
    it does beside importing and naming."""

    code: str
    imports: tuple[Import, ...]
    own: str


def tree_hash(text: bytes) -> str:
    """A hash that comments, docstrings and layout do not change; of the text itself where it is no
    Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return hashlib.sha256(text).hexdigest()
    _strip(tree)
    return _digest(tree)


def closure(roots: Iterable[str]) -> dict[str, str]:
    """The modules that these ones rest on, themselves included, with a hash of each; dotted names
    within this package."""
    found: dict[str, str] = {}
    waiting = [name for name in roots if name in _snapshot()]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = _source(name).code
            waiting += _imported(name)
    # packages on the way to a module run too, and may do more than hand names on
    for name in list(found):
        parts = name.split(".")
        for k in range(1, len(parts)):
            package = ".".join(parts[:k])
            found.setdefault(package, _source(package).own)
    _remember()
    return dict(sorted(found.items()))


def all_modules() -> tuple[str, ...]:
    """Dotted names of this package's modules."""
    return tuple(_snapshot())


@functools.cache
def _imported(module: str) -> tuple[str, ...]:
    """The modules that one leads to."""
    found = (target for entry in _source(module).imports for target in _targets(module, entry))
    return tuple(dict.fromkeys(found))


def _targets(module: str, entry: Import) -> Iterator[str]:
    """The module that an import leads to, past packages that only hand a name on; none outside this
    package."""
    base = _absolute(module, entry)
    if base is None:
        return
    inner = f"{base}.{entry.name}"
    if entry.name and inner in _snapshot():
        yield inner
        return
    if base not in _snapshot():
        return
    handed_on = (
        [one for one in _source(base).imports if entry.name and one.alias == entry.name]
        if _is_package(base)
        else []
    )
    if handed_on:
        yield from _targets(base, handed_on[-1])
    else:
        yield base


def _absolute(module: str, entry: Import) -> str | None:
    if entry.level == 0:
        return entry.module if entry.module.partition(".")[0] == PACKAGE else None
    parts = module.split(".") if _is_package(module) else module.split(".")[:-1]
    parts = parts[: len(parts) - entry.level + 1]
    return ".".join([*parts, *([entry.module] if entry.module else [])])


def _is_package(module: str) -> bool:
    return _snapshot()[module][0].name == "__init__.py" if module in _snapshot() else False


@functools.cache
def _snapshot() -> dict[str, tuple[Path, bytes]]:
    """Every module's file and text, as they are when first asked for: what this process runs."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path, path.read_bytes()
    return found


@functools.cache
def _source(module: str) -> Source:
    """A module's tree, as far as it counts."""
    address = _address(module)
    known = _memory().get(address)
    if known is None:
        read = _read(_snapshot()[module][1], _is_package(module))
        known = _memory()[address] = _fresh[address] = read
    return known


def _address(module: str) -> str:
    """What a module's tree is remembered by."""
    digest = hashlib.sha256(_snapshot()[module][1]).hexdigest()
    return f"package {digest}" if _is_package(module) else digest


_fresh: dict[str, Source] = {}
"""What was read since it was last written down."""


@functools.cache
def _memory() -> dict[str, Source]:
    """What was read before, by the hash of the file."""
    try:
        content: Any = json.loads((_memory_folder() / SOURCES_FILE).read_bytes())
        entries = content["sources"].items() if content["format"] == SOURCES_FORMAT else ()
        return {
            key: Source(one["code"], tuple(Import(**entry) for entry in one["imports"]), one["own"])
            for key, one in entries
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _memory_folder() -> Path:
    """That of the store where there is one: those who look at one that is not there write nothing
    into it. Else the user's cache, so that a first small sweep does not wait for hundreds of trees
    in every process."""
    if cache_folder().is_dir():
        return cache_folder()
    return platformdirs.user_cache_path("biasflow", appauthor=False)


def _remember() -> None:
    if _fresh:
        present = {_address(module) for module in _snapshot()}
        kept = {key: asdict(source) for key, source in _memory().items() if key in present}
        _fresh.clear()
        text = json.dumps({"format": SOURCES_FORMAT, "sources": kept}).encode()
        with contextlib.suppress(StoreError, OSError):  # it only saves time
            _memory_folder().mkdir(parents=True, exist_ok=True)
            write_whole(_memory_folder() / SOURCES_FILE, text)


def _read(text: bytes, package: bool) -> Source:
    tree = ast.parse(text)
    imports = tuple(dict.fromkeys(entry for one in _strip(tree) for entry in _entries(one)))
    code = _digest(tree)
    if not package:
        return Source(code, imports, "")
    tree.body = [one for one in tree.body if not _hands_on(one)]
    return Source(code, imports, _digest(tree))


def _entries(statement: ast.stmt) -> list[Import]:
    if isinstance(statement, ast.ImportFrom):
        module = statement.module or ""
        return [
            Import(statement.level, module, one.name, one.asname or one.name)
            for one in statement.names
        ]
    if isinstance(statement, ast.Import):
        return [Import(0, one.name, "", one.asname or one.name) for one in statement.names]
    return []


def _hands_on(statement: ast.stmt) -> bool:
    """Whether it only imports, or names what is exported."""
    return isinstance(statement, ast.Import | ast.ImportFrom) or _names_exports(statement)


def _names_exports(statement: ast.stmt) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


def _digest(tree: ast.AST) -> str:
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _strip(tree: ast.Module) -> list[ast.stmt]:
    """Take out strings that stand alone, and what is for type checkers only; the statements that
    are left, outer ones first. Statements stand in lists only, so that expressions, which are most
    of a tree, are not looked at."""
    found: list[ast.stmt] = []
    waiting: deque[ast.AST] = deque([tree])
    while waiting:
        node = waiting.popleft()
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list):
                body[:] = [kept for one in body for kept in _counting(one)]
                found += body
                waiting += body
        for field in ("handlers", "cases"):
            waiting += getattr(node, field, [])
    return found


def _counting(statement: ast.stmt) -> list[ast.stmt]:
    """What counts of a statement: itself, nothing, or what happens where no type checker looks."""
    if (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    ):
        return []
    if (
        isinstance(statement, ast.If)
        and isinstance(statement.test, ast.Name)
        and statement.test.id == "TYPE_CHECKING"
    ):
        return [kept for one in statement.orelse for kept in _counting(one)]
    return [statement]
