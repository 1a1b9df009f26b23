# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a module runs: what it returns and prints, which refusals it names at once, and how it ends.

Only here do typed errors become ``fail_json``, and signals a request to end.
"""

from __future__ import annotations

import dataclasses
import gc
import signal
import threading
from collections.abc import Callable, Collection, Sequence
from enum import Enum, StrEnum
from types import FrameType
from typing import Any, NoReturn, Protocol, TypeVar

from ansible.module_utils.basic import AnsibleModule

from .._model.partition import TopicPartition
from .._model.run import KafkaOpsError, count_by_status
from .libraries import KAFKA, missing_libraries_message

_COLLECTOR = (100_000, 50, 100)
"""Python looks for cycles after so many new objects, and through older ones after so many such looks.

A plan of 3,000 elections is half a million objects that stay. By Python's own 700, 10 and 10, a third of the CPU time
of writing and reading it is spent on looking for cycles, and none is found.
"""
_NAMED = 10
"""Lines that a message has. The results and the report hold all of them."""


class Outcome(Protocol):
    """How one partition, its order or its leader ended."""

    @property
    def topic_partition(self) -> TopicPartition: ...
    @property
    def status(self) -> StrEnum: ...
    @property
    def reason(self) -> str: ...


Row = TypeVar("Row", bound=Outcome)


def run(
    module: AnsibleModule, work: Callable[[AnsibleModule], dict[str, Any]], *, needs: Sequence[str] = KAFKA
) -> NoReturn:
    """End the module with the results of ``work``. It fails when they have a ``msg``, or on an expected error.

    ``needs`` are the libraries without which ``work`` is not begun.
    """
    gc.set_threshold(*_COLLECTOR)
    lacking = missing_libraries_message(needs)
    try:
        results = {"msg": lacking} if lacking else work(module)
    except KafkaOpsError as error:
        results = {"msg": str(error)}
    # Outside the except clause: Ansible may add the traceback of an error that is being handled.
    end = module.fail_json if "msg" in results else module.exit_json
    end(**results)
    raise AssertionError("Ansible's modules end in fail_json and exit_json")


def stop_on_signals(stop: threading.Event | None = None) -> threading.Event:
    """Return an event that SIGTERM, SIGINT and SIGHUP set from now on, instead of ending the process.

    It is ``stop``, if given. Ansible passes the first two on to the module when it is ended itself. SIGHUP is a lost
    terminal.
    """
    stop = stop or threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, ask)
    return stop


def select_most_important(rows: Sequence[Row], max_rows: int, *lesser: Collection[StrEnum]) -> list[Row]:
    """Select at most ``max_rows`` rows in their order.

    Rows with a status in ``lesser`` are dropped first, those of the last set before all others.
    The statuses that a person must look at are in none of these sets.
    """
    if len(rows) <= max_rows:
        return list(rows)

    def weight(index: int) -> int:
        return next((number for number, statuses in enumerate(lesser, 1) if rows[index].status in statuses), 0)

    return [rows[index] for index in sorted(sorted(range(len(rows)), key=weight)[:max_rows])]


def partition_results(
    rows: Sequence[Outcome], max_rows: int, statuses: type[StrEnum], *lesser: Collection[StrEnum]
) -> dict[str, Any]:
    """Return a module's results ``partitions``, at most ``max_rows``, ``truncated`` and ``summary``, always of all.

    ``lesser`` are the statuses of the rows that are dropped first.
    """
    shown = select_most_important(rows, max_rows, *lesser)
    return {
        "partitions": to_json_types(shown),
        "truncated": len(shown) < len(rows),
        "summary": count_by_status((each.status for each in rows), statuses),
    }


def list_rows(head: str, rows: Sequence[Outcome]) -> str:
    """Return a message that names the first rows, each with its reason."""
    return list_lines(head, [describe_row(row) for row in rows])


def describe_row(row: Outcome) -> str:
    """Return the status and reason of a row as one line."""
    return f"{row.topic_partition}: {row.status.value}: {row.reason}"


def list_lines(head: str, lines: Sequence[str]) -> str:
    """Return a message with the first lines below its head."""
    more = [f"and {len(lines) - _NAMED} more"] if len(lines) > _NAMED else []
    return "\n  ".join([f"{head}:", *lines[:_NAMED], *more])


def to_json_types(value: Any) -> Any:
    """Convert a value to JSON's types: what has named fields becomes a dict, other tuples lists, enums their values."""
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "_asdict"):
        return {name: to_json_types(each) for name, each in value._asdict().items()}
    if isinstance(value, (list, tuple)):
        return [to_json_types(each) for each in value]
    if isinstance(value, dict):
        return {to_json_types(key): to_json_types(each) for key, each in value.items()}
    if dataclasses.is_dataclass(value):
        return {field.name: to_json_types(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value


class SeveralRefusalsError(KafkaOpsError):
    """More than one thing that was given is refused."""

    def __init__(self, refusals: list[KafkaOpsError]) -> None:
        self.refusals = tuple(refusals)
        super().__init__("\n".join(str(each) for each in refusals))


def call_all(*checks: Callable[[], Any]) -> list[Any]:
    """Run all checks and return their results.

    Raises the one KafkaOpsError that was raised, or SeveralRefusalsError, once every check was made.
    """
    values, refusals = [], []
    for check in checks:
        try:
            values.append(check())
        except KafkaOpsError as refusal:
            refusals.append(refusal)
    if len(refusals) > 1:
        raise SeveralRefusalsError(refusals)
    if refusals:
        raise refusals[0]
    return values
