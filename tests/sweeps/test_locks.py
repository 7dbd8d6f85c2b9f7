import dataclasses
import json
import os
import threading
import time

import pytest

from biasflow.sweeps import StoreError, locks
from biasflow.sweeps.locks import Locks, Owner, live_locks


def leave(folder, owner: Owner, chunk: str = "c", generation: int = 0) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{chunk}.{generation}.lock").write_text(json.dumps(dataclasses.asdict(owner)))


def dead() -> Owner:
    """This process, as it would look had it started at another time: its number was used again."""
    return dataclasses.replace(Owner.this(), started="1")


def test_one_of_two_gets_the_lock_and_the_other_after_its_release(tmp_path):
    with Locks(tmp_path) as one, Locks(tmp_path) as two:
        assert one.acquire("c") and not two.acquire("c") and two.acquire("d")
        one.release("c")
        assert two.acquire("c") and not two.inherited("c")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="elsewhere the heartbeat alone decides")
def test_the_lock_of_a_process_that_is_gone_is_taken_over(tmp_path):
    leave(tmp_path, dead())
    leave(tmp_path, dataclasses.replace(Owner.this(), pid=2**22 + 1), generation=1)
    assert live_locks(tmp_path) == (0, 1)
    with Locks(tmp_path) as mine:
        assert mine.acquire("c") and mine.inherited("c")
        assert live_locks(tmp_path) == (1, 0)
    assert not list(tmp_path.iterdir())


def test_many_takers_of_a_stale_lock_are_one_winner(tmp_path):
    for _ in range(20):
        leave(tmp_path, dead())
        barrier, winners = threading.Barrier(4), []

        def take(lock, barrier=barrier, winners=winners):
            barrier.wait()
            if lock.acquire("c"):
                winners.append(lock)

        everyone = [Locks(tmp_path) for _ in range(4)]
        threads = [threading.Thread(target=take, args=(lock,)) for lock in everyone]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(winners) == 1
        winners[0].release("c")


def test_an_owner_elsewhere_is_believed_while_its_heart_beats(tmp_path, monkeypatch):
    elsewhere = Owner("another machine", 1, "1")
    leave(tmp_path, elsewhere)
    monkeypatch.setattr(locks, "STALE_SECONDS", 0.2)
    with Locks(tmp_path) as mine:
        for _ in range(4):
            assert not mine.acquire("c")
            time.sleep(0.1)
            os.utime(tmp_path / "c.0.lock")
        assert not mine.acquire("c")
        time.sleep(0.25)
        assert mine.acquire("c")


def test_the_heart_beats(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "BEAT_SECONDS", 0.02)
    with Locks(tmp_path) as mine:
        mine.acquire("c")
        (path,) = tmp_path.iterdir()
        before = path.stat().st_mtime_ns
        time.sleep(0.2)
        assert path.stat().st_mtime_ns > before


def test_a_lock_that_nobody_signed_is_left_alone_for_a_while(tmp_path, monkeypatch):
    (tmp_path / "c.0.lock").write_text("")
    monkeypatch.setattr(locks, "UNSIGNED_SECONDS", 0.1)
    with Locks(tmp_path) as mine:
        assert not mine.acquire("c")
        time.sleep(0.15)
        assert mine.acquire("c")


def test_dead_locks_are_buried_and_live_ones_kept(tmp_path):
    leave(tmp_path, dead(), "gone")
    with Locks(tmp_path) as other, Locks(tmp_path) as mine:
        other.acquire("theirs")
        mine.acquire("ours")
        mine.bury()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["ours.0.lock", "theirs.0.lock"]


def test_a_folder_that_takes_no_locks_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with Locks(tmp_path / "file") as mine, pytest.raises(StoreError, match="cannot lock"):
        mine.acquire("c")


def test_an_interrupt_between_a_lock_and_its_note_leaves_none(tmp_path, monkeypatch):
    held = locks.Locks(tmp_path)

    class Interrupted(dict):
        def __setitem__(self, key, value):
            raise KeyboardInterrupt

    monkeypatch.setattr(held, "_held", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        held.acquire("chunk")
    assert not list(tmp_path.glob("*.lock"))


def test_an_interrupted_release_is_done_again_at_the_end(tmp_path, monkeypatch):
    real = type(tmp_path).unlink
    calls = []

    def interrupted(path, missing_ok=False):
        calls.append(path)
        if len(calls) == 1:
            raise KeyboardInterrupt
        real(path, missing_ok=missing_ok)

    with pytest.raises(KeyboardInterrupt), locks.Locks(tmp_path) as held:
        assert held.acquire("chunk")
        monkeypatch.setattr(type(tmp_path), "unlink", interrupted)
        held.release("chunk")
    assert not list(tmp_path.glob("*.lock"))
