# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the options of several modules: partitions, Spark, the progress file and the journal."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from .._changes.journal_reader import JournalOptions
from .._changes.run_topic import RUN_TOPIC
from .._model.partition import Broker, TopicPartition
from .._model.run import KafkaOpsError, NullProgress, Progress
from .._spark.options import SUBOPTIONS
from .connection import Arguments

# Imports that most runs do not need are inside functions.
# ruff: noqa: PLC0415


PARTITIONS = Arguments(
    argument_spec={
        "partitions": {
            "type": "list",
            "elements": "dict",
            "options": {
                "topic": {"type": "str", "required": True},
                "partition": {"type": "int"},
                "partitions": {"type": "list", "elements": "int"},
            },
            "mutually_exclusive": [("partition", "partitions")],
        },
        "partitions_file": {"type": "path"},
    },
    mutually_exclusive=[("partitions", "partitions_file")],
)
SELECTION = PARTITIONS + Arguments(argument_spec={"include_internal_topics": {"type": "bool", "default": False}})
SPARK = Arguments(
    argument_spec={
        "spark": {
            "type": "dict",
            "options": {name: {**spec} for name, spec in SUBOPTIONS.items()},
        },
    },
)
PROGRESS = Arguments(argument_spec={"progress_file": {"type": "path"}})
JOURNAL = Arguments(
    argument_spec={
        "journal_topic": {"type": "str", "default": RUN_TOPIC},
        "journal_discard_lost": {"type": "bool", "default": False},
    }
)


def wanted_partitions(params: Mapping[str, Any]) -> tuple[TopicPartition, ...] | None:
    """Return the requested partitions. None means all offline partitions. Opens no connection.

    Raises DocumentError with every problem.
    """
    if params["partitions"] is None and params["partitions_file"] is None:
        return None
    from .._documents.partitions_file import check_partitions, read_partitions

    if params["partitions_file"] is not None:
        return read_partitions(params["partitions_file"])
    # Ansible sets missing keys to None, which the KIP's format does not allow.
    given = [{name: value for name, value in each.items() if value is not None} for each in params["partitions"]]
    return check_partitions(given)


def notes_on_file(params: Mapping[str, Any]) -> list[str]:
    """Return notes about what a file of partitions says and what is ignored.

    None if the file has changed so that it cannot be read any more: a run that has used it must return its results.
    """
    if params["partitions_file"] is None:
        return []
    from .._documents.errors import DocumentError
    from .._documents.partitions_file import ignored_in_file

    with suppress(DocumentError):
        return [*filter(None, [ignored_in_file(params["partitions_file"])])]
    return []


def progress_to(path: str | None) -> Progress:
    """Return a Progress that writes to this file, or, without a path, nowhere."""
    return FileProgress(path) if path is not None else NullProgress()


class FileProgress:
    """Writes one JSON object on each line: ``text``, ``done``, ``total`` and ``pid``. Errors of the file are ignored.

    ``pid`` is this process: its action sends a signal to it, and not to the shell around it.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def step(self, text: str, done: int | None = None, total: int | None = None) -> None:
        line = json.dumps({"text": text, "done": done, "total": total, "pid": os.getpid()}) + "\n"
        with suppress(OSError):
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with open(descriptor, "a", encoding="utf-8") as file:
                file.write(line)


def describe_unknown_brokers(option: str, broker_ids: Collection[int], brokers: Collection[Broker]) -> Iterator[str]:
    """Yield a note for each broker that an option names, and that the cluster does not have: perhaps a typo.

    ``brokers`` are those that are registered, and those with a replica.
    """
    known = ", ".join(str(each.broker_id) for each in brokers)
    for unknown in sorted({*broker_ids} - {each.broker_id for each in brokers}):
        yield f"{option} names broker {unknown}, which the cluster does not have, nor any replica: it has {known}"


class TimeOptionError(KafkaOpsError):
    """A time cannot be used."""


def read_time(name: str, text: str | None) -> datetime | None:
    """Return the time that this option has, in UTC; None if it has none. Raises TimeOptionError."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
        # A time of the first or the last year of the calendar may have no equal in UTC.
        if time.tzinfo is not None:
            return time.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise TimeOptionError(f"{name} is {text!r}: give a time with its zone, such as 2026-01-31T02:00:00Z")


def journal_options(params: Mapping[str, Any]) -> JournalOptions:
    """Return the journal's options from a module's parameters."""
    return JournalOptions(topic=params["journal_topic"], discard_lost=params["journal_discard_lost"])


def find_plan_contradictions(params: Mapping[str, Any]) -> Iterator[str]:
    """Yield what options contradict each other that say what becomes of a plan."""
    if params["plan_output_file"] and (params["plan_file"] or params["apply"]):
        yield "a plan is either written (to be reviewed) or carried out: run this twice"
    if params["plan_digest"] and not params["plan_file"]:
        yield "a digest was approved, and no plan is given"
