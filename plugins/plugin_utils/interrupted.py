# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After Ctrl-C or SIGTERM, wait for the module, and print what it did.

ansible-playbook passes the signal on to its workers, and runs no further task: it prints no table. A worker of
ansible-core passes it on to its process group, and ends at once. So the action handles the signal itself: the module
gets it, completes its request and returns its results, and the action prints them. The shell around the module must not
get it: it would end before the module. The worker prints nothing any more through ansible-playbook, which ends. So it
writes to the output that ansible-playbook had.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from .rendering import is_structured
from .words import Result, printable, words

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_STDOUT, _STDERR = 1, 2
_OF_A_SIGNAL = 128
"""A shell adds this to the number of the signal that ended a command."""
_IMPORTED_BY = os.getpid()
_OUTPUTS: dict[int, int] = {}
"""Copies of stdout and stderr of the process that imported this: a worker has none of its own."""
for _number in (_STDOUT, _STDERR):
    with suppress(OSError):
        _OUTPUTS[_number] = os.dup(_number)


class Interruption:
    """Whether a signal was received, and the output of ansible-playbook."""

    def __init__(self, output: int | None) -> None:
        self.number: int | None = None
        self._output = output

    def print(self, text: str) -> None:
        """Write to the output that ansible-playbook had when the module was started, if that is open."""
        if self._output is not None:
            with suppress(OSError):
                os.write(self._output, f"{text}\n".encode())


@contextmanager
def outlasted(module: Callable[[], int | None]) -> Iterator[Interruption]:
    """Pass SIGINT and SIGTERM on to the module, and go on. For the main thread of a worker.

    ``module`` returns the module's process id; None if it has not said so yet. Then all processes that this one
    started get the signal: the module has written nothing yet.
    """
    interruption = Interruption(_open_output())

    def pass_on(number: int, _frame: FrameType | None) -> None:
        # The signal to the group reaches this process again. A later one changes nothing: the module ends already.
        if interruption.number is not None:
            return
        interruption.number = number
        pid = module()
        with suppress(OSError):
            if pid is not None and os.getpgid(pid) == os.getpgrp():
                os.kill(pid, number)
            elif os.getpgrp() == os.getpid():
                os.killpg(os.getpid(), number)

    before = {number: signal.signal(number, pass_on) for number in _SIGNALS}
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            # While ansible-playbook ends, it signals its workers again: what is printed must be complete then.
            signal.signal(number, signal.SIG_IGN if interruption.number else handler)


def describe(number: int, result: Result, arguments: Mapping[str, Any], report_variable: str = "") -> str:
    """Return what a stopped module did: its counts, the report, and how to go on.

    ``report_variable`` is the variable that named the report; empty if none did. A report is never overwritten.
    """
    report = str(arguments.get("report_file") or "")
    has_report = os.path.exists(report)
    if has_report and "summary" not in result:
        # The results of a module that is being ended can be cut off. Its report is whole.
        result = _read(report)
    name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
    lines = [f"Stopped by {name}. {_counts(result) or _no_result(result)}"]
    if has_report:
        lines.append(f"Report: {report}")
    other = f" with another {report_variable}" if report_variable else ""
    lines.append(f"Run the same command again{other}: it repeats nothing that is done, and restores what is left.")
    return "\n".join(lines)


def _counts(result: Result) -> str:
    """Return how many partitions have each status, in one sentence; empty if the module did not come so far."""
    summary: Mapping[str, int] = result.get("summary") or {}
    if "recovered" in summary:
        # This import is slow, and needed only here.
        from .recovery_page import verdict  # noqa: PLC0415

        return verdict(
            {"summary": summary, **({"loss": result["loss"]} if "at_least" in result.get("loss", ()) else {})}
        )
    counts = [f"{count:,} {words(status)}" for status, count in summary.items() if isinstance(count, int) and count]
    return f"{', '.join(counts)}." if counts else ""


def _read(report: str) -> Result:
    with suppress(OSError, ValueError):
        content = json.loads(Path(report).read_text(encoding="utf-8"))
        return content if isinstance(content, dict) else {}
    return {}


def describe_end(result: Result) -> str:
    """Return which signal ended a module before it returned a complete result; empty if none did."""
    number = int(result.get("rc") or 0) - _OF_A_SIGNAL
    if "module_stdout" not in result or number not in {*signal.Signals}:
        return ""
    why = " (the kernel sends it if memory runs out: see dmesg)" if number == signal.SIGKILL else ""
    name = signal.Signals(number).name
    return f"{name}{why} ended the module before it returned a result: run the same command again"


def _no_result(result: Result) -> str:
    if describe_end(result):
        return "The module had no result yet."
    return f"The module returned no result: {printable(result.get('msg', 'it was ended'))}"


def _open_output() -> int | None:
    """Return the output of ansible-playbook: it imported this, or it is the parent of the process that did."""
    number = _STDERR if is_structured() else _STDOUT
    if os.getpid() != _IMPORTED_BY:
        return _OUTPUTS.get(number)
    with suppress(OSError):
        return os.open(f"/proc/{os.getppid()}/fd/{number}", os.O_WRONLY | os.O_APPEND)
    return None
