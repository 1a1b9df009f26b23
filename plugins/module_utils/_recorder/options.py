# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the options of the recorder, before anything is contacted."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from .._documents.files import why_no_directory
from .._model.run import KafkaOpsError
from .._module.connection import Arguments
from .._module.options import PROGRESS, SPARK
from .._spark.options import PASSWORD_IN_URI, SparkOptions, has_password, is_uri, local_path, parse_spark_options

_PATTERN = re.compile(r"[*?\[\]{}\\]")
"""What Spark reads as a pattern of file names: it would find no snapshot, or those of another place."""
_MOST_HOURS = 24 * 3660

RECORDING = (
    Arguments(
        argument_spec={
            "recorder_dir": {"type": "path", "required": True},
            "keep_hours": {"type": "int", "default": 168},
            "scope": {"type": "str", "default": ""},
        }
    )
    + PROGRESS
    + SPARK
)


class RecorderOptionsError(KafkaOpsError):
    """An option of the recorder cannot be used."""


def read_recorder_dir(place: str) -> str:
    """Return the path or URI of the dataset, which need not exist. Raises RecorderOptionsError."""
    read_recordings(place, by_spark=True)
    local = local_path(place)
    if local is None:
        return place
    in_log_dir = why_no_directory(local)
    if in_log_dir:
        raise RecorderOptionsError(f"recordings: {in_log_dir}")
    path = Path(local).absolute()
    existing = next(each for each in (path, *path.parents) if os.path.lexists(each))
    if not existing.is_dir():
        raise RecorderOptionsError(
            f"recordings cannot be in {place}: {existing} is not a directory: name another place"
        )
    if not os.access(existing, os.W_OK | os.X_OK, effective_ids=True):
        raise RecorderOptionsError(
            f"recordings cannot be in {place}: uid {os.geteuid()} may not write to {existing}: grant that, or name "
            "another place"
        )
    return place


def read_recordings(place: str, *, by_spark: bool = False) -> str:
    """Return the path or URI of a dataset. ``by_spark``: Spark reads also a path. Raises RecorderOptionsError."""
    if has_password(place):
        raise RecorderOptionsError(f"recordings: {PASSWORD_IN_URI}")
    if (by_spark or is_uri(place)) and (found := _PATTERN.search(place)):
        raise RecorderOptionsError(
            f"recordings cannot be in {place}: Spark takes {found[0]} for a part of a pattern: name another place"
        )
    return place


def read_scope(scope: str) -> re.Pattern[str] | None:
    """Return the pattern of topic names. None is all topics. Raises RecorderOptionsError."""
    try:
        return re.compile(scope) if scope else None
    except re.error as error:
        raise RecorderOptionsError(f"scope {scope!r} is no regular expression of topic names: {error}") from None


def read_keep(hours: int) -> timedelta:
    """Return how long snapshots are kept. Raises RecorderOptionsError."""
    if not 1 <= hours <= _MOST_HOURS:
        raise RecorderOptionsError(f"keep_hours is {hours}: give hours, from 1 to {_MOST_HOURS}")
    return timedelta(hours=hours)


def read_spark(given: Mapping[str, Any] | None, memory: str = "1g") -> SparkOptions:
    """Return where Spark runs, with this memory if none is given. Raises RecorderOptionsError or SparkOptionsError."""
    named = {name: value for name, value in (given or {}).items() if value is not None}
    options = parse_spark_options({"driver_memory": memory, **named}) or SparkOptions()
    if options.remote is not None:
        raise RecorderOptionsError(
            "recordings need a driver on this host, which renames what was written: give spark.master instead of "
            "spark.remote, or nothing"
        )
    return options
