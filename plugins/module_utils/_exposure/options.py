# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the options of the exposure report, before anything is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from .._model.run import KafkaOpsError
from .._module.connection import Arguments
from .._module.options import PROGRESS, SPARK, read_time
from .._recorder.options import read_recordings

EXPOSING = (
    Arguments(
        argument_spec={
            "recordings": {"type": "path", "required": True},
            "scope": {"type": "str", "default": ""},
            "clusters": {"type": "list", "elements": "str", "default": []},
            "from": {"type": "str"},
            "to": {"type": "str"},
            "gap_minutes": {"type": "int"},
            "report_file": {"type": "path"},
        }
    )
    + PROGRESS
    + SPARK
)
_MOST_MINUTES = 31 * 24 * 60


class ExposureOptionsError(KafkaOpsError):
    """An option of the exposure report cannot be used."""


@dataclass(frozen=True, slots=True)
class Period:
    """What to report about."""

    clusters: Sequence[str]
    """Empty means all of the directory."""
    start: datetime | None
    """None means the oldest snapshot."""
    end: datetime
    limit: timedelta | None
    """An interval between snapshots that is longer is a gap. None means three usual ones."""


def read_wanted(params: Mapping[str, Any]) -> Period:
    """Return what to report about. Raises ExposureOptionsError, RecorderOptionsError or TimeOptionError."""
    read_recordings(params["recordings"], by_spark=True)
    start = read_time("from", params["from"])
    end = read_time("to", params["to"]) or datetime.now(UTC)
    if start is not None and start >= end:
        raise ExposureOptionsError(f"from is {start.isoformat()}, which is not before {end.isoformat()}")
    minutes = params["gap_minutes"]
    if minutes is not None and not 1 <= minutes <= _MOST_MINUTES:
        raise ExposureOptionsError(f"gap_minutes is {minutes}: give minutes, from 1 to {_MOST_MINUTES}")
    limit = None if minutes is None else timedelta(minutes=minutes)
    return Period([*dict.fromkeys(params["clusters"])], start, end, limit)
