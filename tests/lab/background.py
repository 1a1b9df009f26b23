# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run a cluster in the background for programs that are not in Python. A file describes it, and SIGTERM ends it."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import FrameType
from typing import NoReturn, Protocol, TypeVar

from lab.proxy import Proxy


class Proxied(Protocol):
    """A cluster with a recording proxy."""

    @property
    def proxy(self) -> Proxy: ...


Lab = TypeVar("Lab", bound=Proxied)


def run(lab: AbstractContextManager[Lab], prepare: Callable[[Lab], Mapping[str, object]], state_file: Path) -> NoReturn:
    """Start it, prepare it, write what ``prepare`` returns and our ``pid``, and wait for SIGTERM.

    After SIGUSR1, ``writes.json`` beside the state file names the write requests that have passed the proxy.
    """
    end_on_sigterm()
    signal.signal(signal.SIGUSR1, lambda _number, _frame: None)
    with lab as started:
        write_state(state_file, {"pid": os.getpid(), **prepare(started)})
        while True:
            signal.pause()
            writes = [request.name for request in started.proxy.write_requests()]
            passed = {"requests": len(started.proxy.requests()), "writes": writes}
            write_state(state_file.with_name("writes.json"), passed)


def end_on_sigterm() -> None:
    """Make SIGTERM leave through every ``with``, so that nothing is left running."""
    signal.signal(signal.SIGTERM, _end)


def write_state(state_file: Path, state: Mapping[str, object]) -> None:
    """Write the state as JSON. The file appears only when it is complete, because another process waits for it."""
    scratch = state_file.with_suffix(".tmp")
    scratch.write_text(json.dumps(state, indent=2) + "\n", encoding="utf-8")
    scratch.rename(state_file)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)
