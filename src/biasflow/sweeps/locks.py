"""Who computes which chunk, when several drivers share a store.

A lock is a file `<chunk>.<generation>.lock`, created exclusively, that names its owner; the highest
generation counts. Where
its owner is gone, whoever creates the next generation owns the chunk: exclusive creation lets one
win, and no lock is removed but by an owner that is done. Whoever gets a lock looks at the shelf
again before computing, so an outdated view costs a look, not a computation.
"""

from __future__ import annotations

import json
import os
import platform
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from .files import StoreError, remove_file

BEAT_SECONDS = 5.0
STALE_SECONDS = 60.0
"""Without a heartbeat for this long, an owner on another machine is taken for dead."""
UNSIGNED_SECONDS = 5.0
"""A lock that names nobody for this long was left by a driver killed while it signed."""


@dataclass(frozen=True)
class Owner:
    """A process, told from any other that has or had its number."""

    machine: str
    pid: int
    started: str

    @staticmethod
    def this() -> Owner:
        return Owner(_machine(), os.getpid(), _started(os.getpid()) or "")

    def gone(self) -> bool | None:
        """Whether the process has ended; None where that cannot be seen from here."""
        if self.machine != _machine() or os.name != "posix":
            return None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        return self.started not in ("", _started(self.pid) or "")


class Locks:
    """The locks of one driver in one folder, kept warm by a thread until closed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._owner = json.dumps(asdict(Owner.this()))
        self._held: dict[str, list[Path]] = {}
        self._watched: dict[Path, tuple[int, float]] = {}
        self._closing = threading.Event()
        self._beat = threading.Thread(target=self._keep_warm, name="biasflow-locks", daemon=True)

    def __enter__(self) -> Locks:
        self._beat.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._closing.set()
        self._beat.join()
        for chunk in list(self._held):
            self.release(chunk)

    def acquire(self, chunk: str) -> bool:
        """Whether this driver now owns the chunk."""
        generations = dict(_generations(self._folder, chunk))
        newest = max(generations, default=-1)
        if newest >= 0 and not self._stale(generations[newest]):
            return False
        path = self._folder / f"{chunk}.{newest + 1}.lock"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if not _create(path, self._owner):
                return False
            self._held[chunk] = [*generations.values(), path]
        except OSError as reason:
            raise StoreError(
                f"store: cannot lock {self._folder}: {reason.strerror}; BIASFLOW_CACHE names "
                "another folder"
            ) from None
        except KeyboardInterrupt:  # between the file and the note of it
            if read_owner(path) == Owner.this():
                remove_file(path)
            raise
        return True

    def inherited(self, chunk: str) -> bool:
        """Whether a driver that is gone had this chunk before."""
        return len(self._held[chunk]) > 1

    def release(self, chunk: str) -> None:
        # the note goes last: who is interrupted here can do it again
        for path in self._held.get(chunk, ()):
            remove_file(path)
        self._held.pop(chunk, None)

    def bury(self) -> None:
        """Remove locks whose owner is gone: one killed between its last write and the release
        leaves a lock that nobody needs."""
        for chunk in {path.name.partition(".")[0] for path in self._folder.glob("*.lock")} - set(
            self._held
        ):
            if self.acquire(chunk):
                self.release(chunk)

    def _stale(self, path: Path) -> bool:
        """Whether its owner is gone, or has not been seen to move for long; by our own clock, as
        clocks differ."""
        try:
            beat = path.stat().st_mtime_ns
        except FileNotFoundError:
            return False
        owner = read_owner(path)
        gone = owner.gone() if owner else None
        if gone is not None:
            return gone
        seen, since = self._watched.get(path, (beat, time.monotonic()))
        self._watched[path] = (seen, since) if seen == beat else (beat, time.monotonic())
        return time.monotonic() - self._watched[path][1] > (
            STALE_SECONDS if owner else UNSIGNED_SECONDS
        )

    def _keep_warm(self) -> None:
        while not self._closing.wait(BEAT_SECONDS):
            for paths in list(self._held.values()):
                try:
                    os.utime(paths[-1])
                # released just now, or a disk in trouble that the next write reports
                except OSError:
                    continue


def live_locks(folder: Path) -> tuple[int, int]:
    """How many chunks are being computed, and how many locks have lost their owner."""
    newest: dict[str, Path] = {}
    for chunk in {path.name.partition(".")[0] for path in folder.glob("*.lock")}:
        generations = dict(_generations(folder, chunk))
        if generations:
            newest[chunk] = generations[max(generations)]
    stale = sum(_looks_stale(path) for path in newest.values())
    return len(newest) - stale, stale


def _looks_stale(path: Path) -> bool:
    try:
        age = time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return True
    owner = read_owner(path)
    gone = owner.gone() if owner else None
    return age > STALE_SECONDS if gone is None else gone


def read_owner(path: Path) -> Owner | None:
    try:
        return Owner(**json.loads(path.read_text(encoding="ascii")))
    except (OSError, ValueError, TypeError):
        return None


def _create(path: Path, content: str) -> bool:
    """Whether this process created the file; nothing is left where it cannot be written."""
    try:
        file = open(path, "x", encoding="ascii")  # noqa: SIM115
    except FileExistsError:
        return False
    try:
        with file:
            file.write(content)
    except BaseException:
        remove_file(path)
        raise
    return True


def _generations(folder: Path, chunk: str) -> Iterator[tuple[int, Path]]:
    for path in folder.glob(f"{chunk}.*.lock"):
        number = path.name.split(".")[1]
        if number.isdecimal():
            yield int(number), path


def _machine() -> str:
    """Host, boot and process-number space: within one, a process number means one process at a
    time."""
    return " ".join(
        [platform.node(), _text("/proc/sys/kernel/random/boot_id"), _link("/proc/self/ns/pid")]
    )


def _started(pid: int) -> str | None:
    """When the process started, in clock ticks since boot; None for one that has ended, waited for
    or not."""
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if fields and fields[0] not in "ZX" else None


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
