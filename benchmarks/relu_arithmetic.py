"""What a step and a gate change of the ReLU flow need, in multiplications and additions, and what
they take."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

EXPONENTIAL = 20
"""Operations counted for an exponential: a polynomial of degree eleven and its scaling."""
FEW_CHANGES = 10
"""Changes of gates from which on the time of one can be told: what a march takes to begin is
shared by them."""
PASSING = 0.5
"""What a step with events needs besides, in units of a step without: the forces in its middle, the
response of the others, and the field where it ends."""


def peak_flops(size: int = 500, runs: int = 10) -> float:
    """Operations a second of one core, in a product of matrices by BLAS."""
    A = np.random.default_rng(0).standard_normal((size, size))
    A @ A
    best = float("inf")
    for _ in range(runs):
        begin = time.process_time()
        for _ in range(4):
            A @ A
        best = min(best, (time.process_time() - begin) / 4)
    return 2 * size**3 / best


def step_flops(m: int, G: int, r: int) -> float:
    """A Dormand–Prince step of m neurons on G directions that span r dimensions, looked through for
    events."""
    width = r + 2
    # ⟨z̄, u⟩, the predictions, the forces; D, and the velocities
    field = 2 * m * G * r + 3 * m * G + 6 * G + 2 * m * G * r + 6 * m * r + EXPONENTIAL * m
    arguments = 2 * (1 + 2 + 3 + 4 + 5 + 5) * m * width
    error = (2 * 6 + 6) * m * width
    events = 2 * m * G * r + 6 * m * G  # slopes of pre-activations; whether any may change sign
    conserved = (6 * r + EXPONENTIAL + 30) * m
    return 6 * field + arguments + error + events + conserved


def change_flops(G: int, r: int) -> float:
    """A neuron that changes gates: its pull as a quartic (half of the gates open), its distances
    from the kinks, what it adds to the predictions, and a step of its own."""
    return 5 * G * r + 2 * G * r + 2 * G * r + 6 * 20 * r


class March:
    """Seconds spent in the compiled march during a `with`, its steps, and those that it refused."""

    def __enter__(self) -> March:
        from biasflow.flows.relu import implicit_tail

        self.seconds, self.steps, self.asked = 0.0, 0, []
        self._own = implicit_tail.march
        implicit_tail.march = self._march  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        from biasflow.flows.relu import implicit_tail

        implicit_tail.march = self._own  # type: ignore[assignment]

    def _march(self, *arguments: Any) -> Any:
        begin = time.process_time()
        result = self._own(*arguments)
        self.seconds += time.process_time() - begin
        self.steps += int(result[5][0] + result[5][1])
        return result


def calm_step_seconds(run: Any, runs: int = 10) -> float:
    """Seconds of a step without an event: the longest stretch between two gate changes, again."""
    from biasflow._numerics.interrupts import stop_flag
    from biasflow.flows.relu.event_march import march
    from biasflow.flows.relu.march_record import Request

    mesh, nothing = run.marched.mesh, np.empty(0)
    late = run.rows[run.rows[:, 0] > run.t_early, 0]
    marks = np.concatenate([[run.t_early], late, [run.marched.time]])
    counts = np.diff(np.searchsorted(mesh, marks))
    place = int(np.argmax(counts))
    inside = run.marched.kept.times[: run.count]
    i = int(np.searchsorted(inside, marks[place], side="right"))
    i = min(i, run.count - 1)
    end = marks[place + 1] - 1e-6 * (marks[place + 1] - inside[i])
    best = float("inf")
    for _ in range(runs):
        Y, gates = run.marched.kept.states[i].copy(), run.marched.kept.gates[i].copy()
        ask = Request(
            float(inside[i]),
            float(end),
            run.per_step,
            run.marched.noise,
            float(run.marched.kept.steps[i]),
            -1.0,
            -1.0,
            -np.inf,
            10_000,
            nothing,
            1,
            stop_flag(),
            np.zeros(3),
            nothing,
        )
        begin = time.process_time()
        spent = march(Y, gates, run.net.geometry, run.net.invariants, False, ask)[5]
        best = min(best, (time.process_time() - begin) / max(int(spent[0] + spent[1]), 1))
    return best


def against_floor(problem: Any, t1: float, rtol: float, peak: float) -> list[str]:
    """Steps, gate changes, µs for each, their floor at this many operations a second, and the
    ratios to it."""
    from biasflow._numerics.interrupts import stop_flag
    from biasflow.flows.relu.event_runs import Setting, run_events
    from biasflow.flows.relu.geometry import network

    net = network(problem)
    residual = problem.model(problem.first_state, problem.data.X) - problem.data.y
    setting = Setting(problem, net, rtol, residual)
    run = run_events(setting, net, t1, None, stop_flag())
    with March() as clock:
        run_events(setting, net, t1, np.array([t1]), stop_flag())
    calm, (m, G), r = calm_step_seconds(run), net.gates.shape, net.start.shape[1] - 2
    changes = len(run.rows) - int(run.counts["early_events"])
    each = max(clock.seconds - clock.steps * calm, 0.0) / max(changes, 1)
    late = run.rows[run.rows[:, 0] > run.t_early, 0]
    with_events = np.unique(np.searchsorted(run.marched.mesh, late)).size
    passing = PASSING * step_flops(m, G, r) * with_events
    floors = [
        step_flops(m, G, r) / peak,
        (change_flops(G, r) + passing / max(changes, 1)) / peak,
    ]
    cells = [str(clock.steps), str(changes)]
    for seconds, floor in zip((calm, each), floors, strict=True):
        cells += [f"{1e6 * seconds:.1f}", f"{1e6 * floor:.2f}", f"{seconds / floor:.1f}x"]
    return cells if changes >= FEW_CHANGES else [*cells[:-3], "-", "-", "-"]


FLOOR_COLUMNS = ["steps", "changes", "µs a step", "floor", "ratio", "µs a change", "floor", "ratio"]
