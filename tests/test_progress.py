"""The line that shows where a long call stands."""

import doctest
import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import biasflow as bf
from biasflow._core import progress
from biasflow._core.progress import doing, hidden
from biasflow._numerics import flow_frame
from biasflow._numerics.interrupts import stoppable
from biasflow.cli.terminal import bars
from biasflow.errors import InputError

SECONDS = 0.5  # that calls here last


class Terminal(io.StringIO):
    def __init__(self):
        super().__init__()
        self.moments = []

    def isatty(self):
        return True

    def write(self, text):
        self.moments.append(time.monotonic())
        return super().write(text)

    @property
    def lines(self):
        """What was drawn, one after the other."""
        return [line.rstrip() for line in self.getvalue().split("\r") if line.strip()]

    @property
    def left(self):
        """What stands on the last line."""
        return visible(self.getvalue())


def visible(text):
    """What a terminal shows on its last line."""
    shown = []
    for part in text.rpartition("\n")[2].split("\r"):
        shown[: len(part)] = part
    return "".join(shown).rstrip()


@pytest.fixture
def opened(monkeypatch):
    """What makes stderr a terminal; called in a test, whose stderr is not that of its set-up."""
    monkeypatch.setattr(progress, "PATIENCE_S", 0.1)
    monkeypatch.delenv("BIASFLOW_PROGRESS", raising=False)

    def open_terminal():
        monkeypatch.setattr(sys, "stderr", Terminal())
        return sys.stderr

    return open_terminal


def wait(seconds=SECONDS):
    time.sleep(seconds)


def test_the_outermost_call_shows_where_it_stands_and_erases_it(opened):
    terminal = opened()
    with doing("a flow"), doing(lambda: f"t = {np.pi:.3g}"):
        wait(1.2)
    assert terminal.lines[0] == "biasflow: a flow · t = 3.14 (0 s)"
    assert terminal.lines[-1] == "biasflow: a flow · t = 3.14 (1 s)"
    assert terminal.left == ""
    drawn = terminal.moments[:-1]  # the last erases
    assert 3 <= len(drawn) <= 6 and min(np.diff(drawn)) > 0.9 * progress.REDRAW_S


def test_nothing_is_asked_of_short_calls(opened):
    terminal = opened()
    asked = []

    @doing(lambda: asked.append(1) or "")
    def short():
        """Says so."""
        return 1

    assert short() == 1 and short.__doc__ == "Says so."
    assert not asked and not terminal.getvalue()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_it_is_erased_where_a_call_raises(error, opened):
    terminal = opened()
    with pytest.raises(error), doing("a flow"):
        wait()
        raise error
    assert terminal.lines and terminal.left == ""


def test_words_that_raise_are_left_out(opened):
    terminal = opened()
    with doing("a flow"), doing(lambda: 1 // 0):
        wait()
    assert terminal.lines[0] == "biasflow: a flow (0 s)"


def test_a_call_that_nobody_ended_is_forgotten(opened):
    terminal = opened()

    def interrupted():
        doing("a flow").__enter__()  # as by an interrupt before its __exit__
        wait()

    interrupted()
    wait()
    assert terminal.lines and terminal.left == ""
    with doing("another"):
        wait()
    assert "another" in terminal.lines[-1] and "a flow" not in terminal.lines[-1]


def test_what_it_costs_is_a_hundredth(opened):
    terminal = opened()

    def slow():
        until = time.thread_time() + 0.05
        while time.thread_time() < until:
            pass
        return "slow"

    with doing(slow):
        wait(1.0)
    assert len(terminal.moments) == 2  # drawn once in five seconds, and erased


@pytest.mark.parametrize("by", ["function", "environment", "block"])
def test_it_can_be_turned_off(by, opened, monkeypatch):
    terminal = opened()
    if by == "environment":
        monkeypatch.setenv("BIASFLOW_PROGRESS", "0")
        assert not progress.is_seen()
    if by == "function":
        bf.progress(False)
    try:
        with hidden() if by == "block" else doing("around"), doing("a flow"):
            wait()
        assert not terminal.getvalue()
    finally:
        bf.progress(True)
    assert progress.is_seen() is (by != "environment")


def test_words_for_it_are_refused():
    with pytest.raises(InputError, match="on: expected bool"):
        bf.progress("off")


def test_it_is_silent_in_threads_doctests_and_pipes(opened, monkeypatch):
    terminal = opened()

    @doing("a flow")
    def call():
        wait()

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    runner = doctest.DocTestRunner()
    runner.run(doctest.DocTestParser().get_doctest(">>> call()", {"call": call}, "", "", 0))
    assert runner.tries == 1 and not terminal.getvalue()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    call()
    assert not sys.stderr.getvalue()


def test_threads_that_work_for_the_main_one_speak_for_it(opened):
    terminal = opened()

    def work():
        with doing("step 3"):
            wait()

    with doing("a flow"):
        stoppable(work)
    assert terminal.lines[0] == "biasflow: a flow · step 3 (0 s)"


def test_it_steps_aside_for_bars_and_news(opened):
    terminal = opened()
    with doing("a flow"):
        wait()
        with hidden():
            assert terminal.left == ""
            before = len(terminal.moments)
            wait()
            assert len(terminal.moments) == before
        wait()
        progress.say("news")
        assert terminal.left == "" and "biasflow: news\n" in terminal.getvalue()
    assert len(terminal.moments) > before + 1


def test_notebooks_have_it_below_the_cell(opened, monkeypatch):
    terminal = opened()
    shown = []
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: object()
    display.HTML = str
    display.display = lambda first, display_id: SimpleNamespace(update=shown.append)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    with doing("x < y"):
        wait()
    assert shown[0] == "biasflow: x &lt; y (0 s)" and shown[-1] == ""
    assert not terminal.getvalue()


def test_long_lines_lose_their_middle(opened, monkeypatch):
    terminal = opened()
    with doing("a" * 200), doing("t = 1"):
        wait()
    line = terminal.lines[0]
    assert len(line) == progress.USUAL_COLUMNS - 1
    assert line.startswith("biasflow: aaa") and line.endswith("aaa · t = 1 (0 s)")


def raising(text):
    raise OSError("gone")


@pytest.mark.parametrize(
    "stream",
    [None, SimpleNamespace(write=str), SimpleNamespace(write=raising, isatty=lambda: True)],
    ids=["none", "no terminal, no file", "gone"],
)
def test_calls_go_on_where_nothing_can_be_written(stream, opened, monkeypatch):
    opened()
    monkeypatch.setattr(sys, "stderr", stream)
    with doing("a flow"):
        wait()
        progress.say("news")


def test_a_closed_stream_is_no_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    sys.stderr.close()  # isatty raises from here on
    with doing("a flow"):
        progress.say("news")


def test_what_cannot_be_encoded_takes_one_column(opened):
    terminal = opened()
    terminal.__class__ = type("Ascii", (Terminal,), {"encoding": "ascii"})
    with doing("α → 0"):
        wait()
    assert terminal.lines[0] == "biasflow: ? ? 0 (0 s)" and terminal.left == ""


PROBLEM = """
import sys
import numpy as np
import biasflow as bf
from biasflow._core import progress
progress.PATIENCE_S = 0.3
rng = np.random.default_rng(0)
data = bf.Dataset(rng.standard_normal((20, 60)), rng.standard_normal(20))
problem = bf.Problem(bf.DiagonalNetwork(3), data, bf.SquareLoss("half"), scale=1e-3)
"""


def in_terminal(code, interrupt_after=None):
    """Everything that a script writes to a terminal, and its exit code."""
    pty = pytest.importorskip("pty")
    own, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs)
    os.close(theirs)
    found = b""
    while True:
        try:
            found += os.read(own, 4096)
        except OSError:  # nobody writes any more
            break
        if interrupt_after and re.search(interrupt_after, found.decode(errors="ignore")):
            process.send_signal(signal.SIGINT)
            interrupt_after = None
    os.close(own)
    return found.decode().replace("\r\n", "\n"), process.wait()


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_flow_in_a_real_terminal(interrupted):
    call = "bf.gradient_flow(problem, method='weights', time_s=2, throw=False)\nprint('done')"
    code = f"{PROBLEM}\ntry:\n    {call.splitlines()[0]}\nexcept KeyboardInterrupt:\n    pass\n"
    pattern = r"t = [\d.e+-]+, loss [\d.e+-]+"
    text, status = in_terminal(f"{code}print('done')", pattern if interrupted else None)
    assert status == 0
    assert re.search(rf"biasflow: gradient flow · .*{pattern} \(\d s\)", text)
    assert visible(text.rpartition("done\n")[0]) == ""


def test_the_command_line_writes_plain_lines_in_a_pipe():
    code = (
        "import sys\nfrom biasflow._core import progress\nprogress.PLAIN_S = 0.3\n"
        "from biasflow.cli import main\n"
        "sys.argv[1:] = ['verify', 'B/thm1', '--problem', '0']\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    lines = [line for line in done.stderr.splitlines() if "compiling" not in line]
    assert lines and all(line.startswith("biasflow: ") for line in lines)
    assert "verify · B/thm1 · " in done.stderr and "\r" not in done.stderr


def test_bars_of_the_command_line_are_plain_lines_in_a_pipe(monkeypatch):
    monkeypatch.setattr(progress, "PLAIN_S", 0.1)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(progress._line, "plain", True)
    with bars() as tell:
        tell(3, 7, "claims")
        with doing("a flow"):
            wait()
    assert sys.stderr.getvalue().startswith("biasflow: claims 3 of 7 · a flow (0 s)\n")


def relu(loss, labels):
    X = np.random.default_rng(0).standard_normal((6, 3))
    return bf.Problem(bf.TwoLayer(8, 3), bf.Dataset(X, labels), loss, scale=0.1, key=0)


def diagonal(method):
    X, y = np.random.default_rng(0).standard_normal((4, 9)), 50.0 * np.arange(1.0, 5.0)
    problem = bf.Problem(bf.DiagonalNetwork(2), (X, y), bf.SquareLoss("half-mean"), scale=0.1)
    return bf.gradient_flow(problem, method=method, t1=0.01)


def completion():
    data = bf.data.from_entries((2, 2), [0, 0, 1], [0, 1, 0], [20.0, 10.0, 10.0])
    model = bf.MatrixFactorisation((2, 2), rank=4)
    return bf.gradient_flow(
        bf.Problem(model, data, bf.SquareLoss("half-mean"), scale=0.1, key=0), t1=0.3
    )


FLOWS = {
    "dual": lambda: diagonal("dual"),
    "compiled": lambda: diagonal("compiled"),
    "weights": lambda: diagonal("weights"),
    "factored": completion,
    "events": lambda: bf.gradient_flow(
        relu(bf.SquareLoss("half-mean"), 30.0 * np.arange(1, 7)), t1=0.01
    ),
    "margin": lambda: bf.gradient_flow(
        relu(bf.SmoothMargin(), np.array([1.0, -1, 1, 1, -1, 1])), log_norm=4.0
    ),
    "mirror": lambda: bf.mirror_flow(
        bf.potentials.Euclidean(),
        np.array([[3.0, 40.0]]),
        [6.0],
        t1=1e-3,
        loss=bf.SquareLoss("sum"),
    ),
}


@pytest.mark.parametrize("name", FLOWS)
def test_what_is_said_of_a_flow_is_true_in_the_end(name, monkeypatch):
    said = []
    monkeypatch.setattr(flow_frame, "doing", lambda words: said.append(words) or doing(words))
    flow = FLOWS[name]()
    numbers = [float(found) for found in re.findall(r"[\d.]+(?:e[+-]\d+)?", said[0]())]
    expected = [flow.times[-1], flow.log_norm[-1] if name == "margin" else flow.loss[-1]]
    assert numbers[:2] == pytest.approx(expected, rel=0.01)
    assert numbers[2:] == ([len(flow.events)] if name == "events" else [])
