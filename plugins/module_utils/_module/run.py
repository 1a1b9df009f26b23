# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run a module: convert results and errors to Ansible's, shorten long results, handle signals.

Only this file turns KafkaOpsError into ``fail_json``, and signals into an event that asks a run to stop.
"""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import threading
from collections.abc import Callable, Collection, Sequence
from enum import Enum, StrEnum
from types import FrameType
from typing import Any, NoReturn, Protocol, TypeVar

from ansible.module_utils.basic import AnsibleModule

from .._kafka.errors import NoBrokerAnswersError
from .._model.partition import TopicPartition
from .._model.run import KafkaOpsError, count_by_status, set_collector_thresholds
from .libraries import KAFKA, missing_libraries_message

_USER_AND_PASSWORD = re.compile(r"([^\s/,@]*:[^\s/,@]+)@")
"""In an address or a URL. Such an option is refused, and Ansible would show it as it was given."""
_MAX_LINES = 10
"""Lines in a message. Results and report have all of them."""


class ModuleOutcome(Protocol):
    """The outcome for one partition, its replica order or its leader."""

    @property
    def topic_partition(self) -> TopicPartition: ...
    @property
    def status(self) -> StrEnum: ...
    @property
    def reason(self) -> str: ...


Row = TypeVar("Row", bound=ModuleOutcome)


def run(
    module: AnsibleModule, work: Callable[[AnsibleModule], dict[str, Any]], *, needs: Sequence[str] = KAFKA
) -> NoReturn:
    """Call ``work`` and end the module with its results. It fails if they have a ``msg``, or on a KafkaOpsError.

    It also fails, without a traceback, if the file system refuses a path.

    ``needs`` are the libraries that must be installed before ``work`` is called.
    """
    set_collector_thresholds()
    _hide_passwords(module)
    missing = missing_libraries_message(needs)
    try:
        results = {"msg": missing} if missing else work(module)
    except NoBrokerAnswersError as error:
        results = {"msg": f"{error}. {error.remedy}"}
    except KafkaOpsError as error:
        results = {"msg": str(error)}
    except OSError as error:
        if error.filename is None:
            raise
        # For example a parent directory that is closed to this user: nobody tried to open the file itself.
        results = {"msg": f"{error.filename}: {error.strerror} (for uid {os.geteuid()}): check the path and its rights"}
    # Outside the except clause, because Ansible may add the traceback of an error that is being handled.
    end = module.fail_json if "msg" in results else module.exit_json
    end(**results)
    raise AssertionError("Ansible's modules end in fail_json and exit_json")


def _hide_passwords(module: AnsibleModule) -> None:
    """Let Ansible hide the passwords in options that are no secrets themselves."""
    for given in module.params.values():
        texts = given if isinstance(given, list) else [given]
        for text in (each for each in texts if isinstance(each, str)):
            module.no_log_values.update(_USER_AND_PASSWORD.findall(text))


def stop_on_signals(stop: threading.Event | None = None) -> threading.Event:
    """Make SIGTERM, SIGINT and SIGHUP set an event instead of ending the process, and return the event.

    The event is ``stop``, if given. If Ansible is ended by SIGTERM or SIGINT, it passes the signal on to the module.
    SIGHUP means that the terminal was closed.
    """
    stop = stop or threading.Event()

    def set_stop(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, set_stop)
    return stop


def select_most_important(rows: Sequence[Row], max_rows: int, *lesser: Collection[StrEnum]) -> list[Row]:
    """Return at most ``max_rows`` rows in their order.

    Rows with a status in ``lesser`` are dropped first, those of the last set before the others. Statuses to which the
    operator must react are in none of these sets.
    """
    if len(rows) <= max_rows:
        return list(rows)

    def weight(index: int) -> int:
        return next((number for number, statuses in enumerate(lesser, 1) if rows[index].status in statuses), 0)

    return [rows[index] for index in sorted(sorted(range(len(rows)), key=weight)[:max_rows])]


def partition_results(
    rows: Sequence[ModuleOutcome], max_rows: int, statuses: type[StrEnum], *lesser: Collection[StrEnum]
) -> dict[str, Any]:
    """Return a module's results ``partitions`` (at most ``max_rows``), ``truncated``, and ``summary`` of all rows.

    ``lesser`` are the statuses of the rows that are dropped first.
    """
    shown = select_most_important(rows, max_rows, *lesser)
    return {
        "partitions": to_json_types(shown),
        "truncated": len(shown) < len(rows),
        "summary": count_by_status((each.status for each in rows), statuses),
    }


def diff_of(header: str, changes: Sequence[tuple[object, object, object]], max_rows: int) -> dict[str, str]:
    """Return a module's result ``diff`` with at most ``max_rows`` changes: subject, state before, state after."""
    shown = changes[:max_rows]
    rest = f"... and {len(changes) - max_rows} more\n" if len(changes) > max_rows else ""
    return {
        "before_header": header,
        "after_header": header,
        "before": "".join(f"{subject}: {before}\n" for subject, before, _after in shown) + rest,
        "after": "".join(f"{subject}: {after}\n" for subject, _before, after in shown) + rest,
    }


def list_rows(head: str, rows: Sequence[ModuleOutcome]) -> str:
    """Return a message with the first rows and their reasons below the head."""
    return list_lines(head, [describe_row(row) for row in rows])


def describe_row(row: ModuleOutcome) -> str:
    """Return the partition, the status and the reason of a row as one line."""
    return f"{row.topic_partition}: {row.status.value}: {row.reason}"


def list_lines(head: str, lines: Sequence[str]) -> str:
    """Return a message with the first lines below the head."""
    more = [f"and {len(lines) - _MAX_LINES} more"] if len(lines) > _MAX_LINES else []
    return "\n  ".join([f"{head}:", *lines[:_MAX_LINES], *more])


def to_json_types(value: Any) -> Any:
    """Convert a value to JSON's types: dataclasses and NamedTuples to dicts, other tuples to lists, enums to values."""
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


def call_all(*checks: Callable[[], Any]) -> list[Any]:
    """Call all checks and return their results.

    All are called before an error is raised: the KafkaOpsError of one check, or one with the texts of several.
    """
    values, refusals = [], []
    for check in checks:
        try:
            values.append(check())
        except KafkaOpsError as error:
            refusals.append(error)
    if refusals:
        raise refusals[0] if len(refusals) == 1 else KafkaOpsError("\n".join(map(str, refusals)))
    return values
