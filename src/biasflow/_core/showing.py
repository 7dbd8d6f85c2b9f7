"""Where records are drawn: in a room above theirs, which the package names when it is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_rooms: list[Callable[[], Any]] = []


def drawn_in(room: Callable[[], Any]) -> None:
    """Say where: a call that imports the room, made when the first record is drawn."""
    _rooms[:] = [room]


def drawing_room() -> Any:
    """The room that draws records, as the package named it."""
    return _rooms[0]()
