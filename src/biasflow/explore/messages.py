"""What a page may say, read strictly: a sentence for everything else."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from .scene import Scene, State

LARGEST_MESSAGE = 64 * 1024
"""Bytes of a request; the largest table that a scene takes is a third of it."""
LARGEST_ID = 2**31
DEEPEST = 6
"""Levels of nesting: a request has four."""
BRACKET = re.compile(r"[\[\]{}]")
KINDS = ("ask", "code", "export", "cancel")


@dataclass(frozen=True)
class Request:
    """kind: 'ask' for the parts of a scene, 'code' for it as Python, 'export' for a page that plays
    without a server, 'cancel' for none of what was asked before. id: the page's own number."""

    kind: str
    id: int
    scene: Scene | None
    state: State


def read_request(text: str, scenes: dict[str, Scene]) -> Request:
    """A request, or an `InputError` that says what is wrong with it; its `id` attribute is the
    request's own, where that could be read."""
    if len(text.encode("utf-8", "replace")) > LARGEST_MESSAGE:
        raise InputError(f"request: expected at most {LARGEST_MESSAGE} bytes, found {len(text)}")
    if _nested_deeply(text):
        raise InputError("request: nested too deeply")
    try:
        message = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        raise InputError("request: expected JSON") from None
    if not isinstance(message, dict):
        raise InputError("request: expected an object")
    id = message.get("id")
    if isinstance(id, bool) or not isinstance(id, int) or not 0 <= id < LARGEST_ID:
        raise InputError(f"id: expected an integer from 0 to {LARGEST_ID - 1}")
    try:
        return _request(message, id, scenes)
    except InputError as error:
        error.id = id  # type: ignore[attr-defined]
        raise


def _request(message: dict[str, Any], id: int, scenes: dict[str, Scene]) -> Request:
    kind = message.get("kind")
    if kind not in KINDS:
        raise InputError(f"kind: expected one of {', '.join(KINDS)}")
    allowed = {"kind", "id"} if kind == "cancel" else {"kind", "id", "scene", "state"}
    extra = sorted(set(message) - allowed)
    if extra:
        raise InputError(f"{extra[0][:40]!r}: a request of kind {kind!r} has no such entry")
    if kind == "cancel":
        return Request(kind, id, None, {})
    name = message.get("scene")
    if not isinstance(name, str) or name not in scenes:
        raise InputError(f"scene: expected one of {', '.join(scenes)}")
    scene = scenes[name]
    return Request(kind, id, scene, scene.read(message.get("state", {})))


def _nested_deeply(text: str) -> bool:
    """Whether brackets nest too deeply, those inside strings counted too: known before anything is
    parsed."""
    depth = 0
    for found in BRACKET.finditer(text):
        depth += 1 if found.group() in "[{" else -1
        if depth > DEEPEST:
            return True
    return False


def _refused(name: str) -> float:
    raise ValueError(name)
