# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Follow the progress file of a module that runs on this host, and print its steps and the remaining time."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SAME_STEP_FACTOR = 5
"""An unchanged step is printed again after this many times the usual interval, to show that the run does not hang."""


@dataclass(frozen=True, slots=True)
class ProgressPace:
    """Times in seconds."""

    between_lines_s: float
    quiet_at_first_s: float = 3.0
    """Shorter work prints no progress."""
    read_every_s: float = 0.5


@contextmanager
def followed(path: Path, show: Callable[[str], None], pace: ProgressPace) -> Iterator[None]:
    """Call ``show`` with a line for the newest step, at this pace."""
    is_done = threading.Event()
    follower = threading.Thread(target=_follow, args=(path, show, pace, is_done), daemon=True)
    follower.start()
    try:
        yield
    finally:
        is_done.set()
        follower.join()


def _follow(path: Path, show: Callable[[str], None], pace: ProgressPace, is_done: threading.Event) -> None:
    began = time.monotonic()
    next_at, again_at = began + pace.quiet_at_first_s, 0.0
    shown: dict[str, Any] = {}
    rate = Rate()
    while not is_done.wait(pace.read_every_s):
        now, step = time.monotonic(), newest(path)
        left = rate.seconds_left(step, now)
        if not step or now < (again_at if step == shown else next_at):
            continue
        show(f"{now - began:4.0f} s: {'still ' if step == shown else ''}{in_words(step, left)}")
        next_at, again_at = now + pace.between_lines_s, now + _SAME_STEP_FACTOR * pace.between_lines_s
        shown = step


class Rate:
    """The speed of a step since it was first seen."""

    def __init__(self) -> None:
        self._text = ""
        self._first: tuple[float, int] = (0.0, 0)

    def seconds_left(self, step: dict[str, Any], now: float) -> float | None:
        """Return the seconds that the rest of the step takes at its present speed; None if unknown."""
        if not step or not step["total"]:
            return None
        done = int(step["done"] or 0)
        if step["text"] != self._text:
            self._text, self._first = str(step["text"]), (now, done)
        seconds, progress = now - self._first[0], done - self._first[1]
        return (int(step["total"]) - done) * seconds / progress if progress > 0 else None


def newest(path: Path) -> dict[str, Any]:
    """Return the step of the last complete line: ``text``, ``done`` and ``total``. Empty if there is none yet."""
    with suppress(KeyError):
        step = _last_line(path)
        return {name: step[name] for name in ("text", "done", "total")}
    return {}


def writer_of(path: Path) -> int | None:
    """Return the process id of the module that wrote the last complete line; None if there is none yet."""
    pid = _last_line(path).get("pid")
    return pid if isinstance(pid, int) else None


def _last_line(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError, IndexError):
        line = json.loads(path.read_text(encoding="utf-8", errors="replace").split("\n")[-2])
        return line if isinstance(line, dict) else {}
    return {}


def in_words(step: dict[str, Any], seconds_left: float | None) -> str:
    """Return the step, its progress, and about how long it will still take."""
    if not step["total"]:
        return str(step["text"])
    left = "" if seconds_left is None else f", about {seconds_left:.0f} s left"
    return f"{step['text']} ({step['done'] or 0:,} of {step['total']:,}{left})"
