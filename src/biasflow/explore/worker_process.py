"""A worker: a process that computes scenes, one request at a time, and speaks JSON, a line each.

It hears {"id", "scene", "state"}, without a state to load the scene when there is nothing else to
do, and {"cancel": id} on its standard input and says {"id",
"begun"} once the scene is loaded, {"id", "part"} with its data behind a tab, and {"id", "end"} with
a sentence where the request failed. Where its input ends, so does it. With the argument `--compile`
it loads every scene once, so that compiled code is on disk, and ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import deque
from typing import IO, Any, Protocol

COMPILE = "--compile"


class Say(Protocol):
    """Say one line: what it is, and the data that nobody on the way has to read."""

    def __call__(self, head: dict[str, Any], data: Any = None) -> None: ...


class Labour:
    """The requests of one worker: what was asked, what was cancelled, which scenes are warm."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._asked: deque[dict[str, Any]] = deque()
        self._to_warm: deque[dict[str, Any]] = deque()
        self._something = threading.Semaphore(0)
        self._cancelled: set[int] = set()
        self._now: int | None = None
        self._deciding = threading.Lock()
        self._warm: set[str] = set()

    def listen(self, lines: IO[str]) -> None:
        """Read requests until there are no more; runs beside the work, so that a cancellation is
        heard during it."""
        for line in lines:
            self.listen_to(line)
        os._exit(0)  # whoever asked is gone, and nobody waits for what is being computed

    def listen_to(self, line: str) -> None:
        """One message."""
        message = json.loads(line)
        if "cancel" in message:
            self._cancel(message["cancel"])
        else:
            waiting = self._to_warm if message["state"] is None else self._asked
            waiting.append(message)
            self._something.release()

    def work(self) -> None:
        while True:
            self.work_once()

    def work_once(self) -> None:
        """Wait for a request and serve it."""
        self._something.acquire()
        # whoever waits for a picture goes before scenes that nobody looks at yet
        self._serve((self._asked or self._to_warm).popleft())

    def _cancel(self, id: int) -> None:
        from .patience import abandoned

        with self._deciding:
            self._cancelled.add(id)
            if id == self._now:
                abandoned.set()

    def _take(self, id: int | None) -> None:
        """This is what is computed from now on; it may be cancelled already. Loading a scene is
        never broken off: the next who asks needs it, too."""
        from .patience import abandoned

        with self._deciding:
            self._now = id
            if id in self._cancelled:
                abandoned.set()
            else:
                abandoned.clear()

    def _serve(self, message: dict[str, Any]) -> None:
        from .patience import Abandoned
        from .scenes import SCENES

        id, scene = message["id"], SCENES[message["scene"]]
        failure = ""
        try:
            if scene.name not in self._warm:
                scene.warm()
                self._warm.add(scene.name)
            self._say({"id": id, "begun": True})
            if message.get("state") is not None and id not in self._cancelled:
                self._take(id)
                for name, data in scene.parts(message["state"]):
                    if id in self._cancelled:
                        break
                    self._say({"id": id, "part": name}, data)
        except Abandoned:
            pass
        except Exception as error:
            failure = sentence_of(error)
        self._take(None)
        if not self._asked:  # then nothing is left that could be cancelled
            self._cancelled.clear()
        self._say({"id": id, "end": failure})


def sentence_of(error: Exception) -> str:
    """What a page says of an error: ours are sentences; of others, what they are."""
    from ..errors import BiasflowError

    text = " ".join(str(error).split())
    text = text if isinstance(error, BiasflowError) else f"{type(error).__name__}: {text}"
    return text if len(text) <= 400 else f"{text[:399]}…"


def main() -> None:
    """Serve standard input. What libraries print goes to standard error: the answers have a channel
    of their own."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)

    def say(head: dict[str, Any], data: Any = None) -> None:
        line = json.dumps(head)
        if data is not None:
            line += "\t" + json.dumps(data, separators=(",", ":"), allow_nan=False)
        answers.write(line + "\n")
        answers.flush()

    if COMPILE in sys.argv[1:]:
        compile_all()
        return
    labour = Labour(say)
    threading.Thread(target=labour.listen, args=(sys.stdin,), daemon=True).start()
    labour.work()


def compile_all() -> None:
    """Every scene once, at the lowest priority: workers need their cores more."""
    from .scenes import SCENES

    os.nice(10)
    for scene in SCENES.values():
        scene.warm()


if __name__ == "__main__":
    main()
