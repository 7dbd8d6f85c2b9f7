"""Workers: answers reach who asked, newer questions cancel older ones, the dead are replaced."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import signal
from pathlib import Path

import pytest

from biasflow.explore import crew as crew_module
from biasflow.explore.crew import Crew, Job

SPEC = importlib.util.spec_from_file_location(
    "stub_worker", Path(__file__).with_name("stub_worker.py")
)
stub_worker = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(stub_worker)
STUBS = stub_worker.STUBS


class Asker:
    """Collects what is delivered."""

    def __init__(self, crew, owner="page"):
        self.crew, self.owner, self.heard, self.over = crew, owner, [], asyncio.Event()

    def ask(self, scene, n=3):
        def deliver(head, data):
            self.heard.append((head, data))
            if "end" in head:
                self.over.set()

        self.over.clear()
        self.crew.ask(Job(self.owner, STUBS[scene], {"n": n}, deliver))
        return self

    async def ended(self):
        await asyncio.wait_for(self.over.wait(), 30)
        return self.heard[-1][0]["end"]


def run(test, hands=1):
    """A test on a crew of stubs; its workers are gone afterwards."""

    async def whole():
        crew = Crew(hands, stub_worker.WORKER)
        await crew.start()
        pids = [worker.process.pid for worker in crew._everyone]
        try:
            await test(crew)
        finally:
            pids += [worker.process.pid for worker in crew._everyone]
            await crew.stop()
        for pid in pids:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)

    asyncio.run(whole())


def numbers(asker):
    return [data for head, data in asker.heard if head.get("part") == "number"]


def test_parts_arrive_in_order_and_end():
    async def test(crew):
        asker = Asker(crew).ask("count", 4)
        assert await asker.ended() == ""
        assert [f'"k":{k}' in data for k, data in enumerate(numbers(asker))] == [True] * 4
        assert crew.idle

    run(test)


def test_a_newer_question_cancels_the_older_and_only_it_is_answered():
    async def test(crew):
        old, new = Asker(crew), Asker(crew)
        old.ask("count", 10_000)
        while not numbers(old):
            await asyncio.sleep(0.01)
        new.ask("count", 2)
        assert await new.ended() == ""
        told = len(old.heard)
        await asyncio.sleep(0.2)
        assert len(old.heard) == told and not old.over.is_set()
        assert len(numbers(new)) == 2 and crew.deaths == 0

    run(test)


def test_a_page_that_asks_without_end_does_not_keep_others_waiting():
    async def test(crew):
        greedy, modest = Asker(crew, "greedy"), Asker(crew, "modest")
        greedy.ask("count", 50)
        modest.ask("count", 1)
        for _ in range(20):
            greedy.ask("count", 50)
            await asyncio.sleep(0.02)
        assert await asyncio.wait_for(modest.ended(), 5) == ""
        assert len(numbers(modest)) == 1

    run(test)


def test_a_worker_past_its_budget_is_killed_and_the_spare_takes_over():
    async def test(crew):
        first, spare = crew.workers[0].process.pid, crew.spare.process.pid
        asker = Asker(crew).ask("sleep")
        assert "longer than 0.4 seconds" in await asker.ended()
        assert await Asker(crew, "other").ask("count", 1).ended() == ""
        assert crew.workers[0].process.pid == spare != first and crew.deaths == 1

    run(test)


def test_loading_a_scene_does_not_count_against_its_budget():
    async def test(crew):
        asker = Asker(crew).ask("cold", 1)
        assert await asker.ended() == ""
        assert any("warming" in head for head, _ in asker.heard) and crew.deaths == 0

    run(test)


def test_a_crash_is_one_sentence_and_others_go_on():
    async def test(crew):
        assert "exit code 3" in await Asker(crew).ask("die").ended()
        assert await Asker(crew).ask("count", 1).ended() == ""

    run(test)


def test_an_error_is_its_sentence_and_the_worker_stays():
    async def test(crew):
        assert await Asker(crew).ask("fail").ended() == "n: there is no such number"
        assert crew.deaths == 0

    run(test)


def test_what_a_worker_prints_is_no_answer_and_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(crew_module, "LARGEST_PART", 2**14)

    async def test(crew):
        assert await Asker(crew).ask("shout", 100).ended() == ""
        assert "too large" in await Asker(crew).ask("shout", 10**6).ended()
        assert await Asker(crew).ask("count", 1).ended() == ""

    run(test)


def test_killed_workers_are_replaced_and_no_answer_goes_astray():
    async def test(crew):
        askers = [Asker(crew, k) for k in range(4)]
        for round in range(6):
            for asker in askers:
                asker.heard.clear()
                asker.ask("count", 2)
            await asyncio.sleep(0.03)
            victim = crew.workers[round % 2] if len(crew.workers) == 2 else crew.spare
            if victim is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim.process.pid, signal.SIGKILL)
            for asker in askers:
                ending = await asker.ended()
                assert ending == "" or "ended (exit code -9)" in ending
                assert len(numbers(asker)) == 2 or ending
        assert crew.idle

    run(test, 2)


def test_a_scene_is_loaded_by_one_worker_after_the_other():
    async def test(crew):
        asker = Asker(crew).ask("cold", 1)
        assert {"warming": "cold"} in [head for head, _ in asker.heard]
        assert sum(bool(worker.serials) for worker in crew._everyone) == 1
        assert await asker.ended() == ""
        loading = [worker for worker in crew._everyone if worker.serials]
        assert len(loading) == 1, "the next one, and not the spare, too"
        while not all("cold" in worker.warm for worker in crew._everyone):
            assert sum(bool(worker.serials) for worker in crew._everyone) <= 1
            await asyncio.sleep(0.02)

    run(test, hands=2)


def test_a_question_waits_for_the_worker_that_has_loaded_its_scene():
    """Rather than for one that would have to load it first: a drag asks again and again."""

    async def test(crew):
        asker = Asker(crew).ask("cold", 1)
        await asker.ended()
        first = numbers(asker)[0]
        for _ in range(8):  # while the other worker is still loading
            asker.ask("cold", 100)
            await asyncio.sleep(0.01)
        asker.heard.clear()
        asker.ask("cold", 1)
        await asker.ended()
        assert numbers(asker) == [first], "the same process"

    run(test, hands=2)


def test_a_question_cancelled_while_its_scene_is_loaded_leaves_the_worker_to_the_next():
    async def test(crew):
        one, two = Asker(crew, "one"), Asker(crew, "two")
        one.ask("cold", 1)
        await asyncio.sleep(0.05)
        crew.cancel("one")
        assert crew.idle
        two.ask("cold", 1)
        assert await two.ended() == "" and numbers(two)
        assert not numbers(one)

    run(test)
