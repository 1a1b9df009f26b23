# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Follows the progress file of a module that runs on this host, and prints what it says."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_LOOK_EVERY_S = 0.5
_QUIET_AT_FIRST_S = 3.0
"""Work that ends sooner needs no progress."""


@contextmanager
def followed(path: Path, tell: Callable[[str], None], seconds_between: float) -> Iterator[None]:
    """Calls ``tell`` with a line for the newest step, when it is another one, at most every ``seconds_between``."""
    is_done = threading.Event()
    follower = threading.Thread(target=_follow, args=(path, tell, seconds_between, is_done), daemon=True)
    follower.start()
    try:
        yield
    finally:
        is_done.set()
        follower.join()


def _follow(path: Path, tell: Callable[[str], None], seconds_between: float, is_done: threading.Event) -> None:
    began = time.monotonic()
    next_at, told = began + _QUIET_AT_FIRST_S, ""
    while not is_done.wait(_LOOK_EVERY_S):
        now = time.monotonic()
        if now < next_at:
            continue
        step = _newest(path)
        if step and step != told:
            tell(f"{now - began:4.0f} s: {step}")
            next_at, told = now + seconds_between, step


def _newest(path: Path) -> str:
    """The last whole line's step in words; empty where there is none yet."""
    with suppress(OSError):
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
        with suppress(ValueError, TypeError, KeyError, IndexError):
            return _in_words(json.loads(lines[-1]))
    return ""


def _in_words(step: dict[str, Any]) -> str:
    if step["total"]:
        return f"{step['text']} ({step['done'] or 0} of {step['total']})"
    return str(step["text"])
