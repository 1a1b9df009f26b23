# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the options of the exposure report, before anything is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from .._model.run import KafkaOpsError
from .._module.connection import Arguments
from .._module.options import PROGRESS, SPARK, read_time
from .._module.run import call_all
from .._recorder.options import read_recordings
from .._spark.options import local_path

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
    """Return what to report about. Raises KafkaOpsError with all that cannot be used."""
    _place, start, given_end, limit = call_all(
        lambda: _check_recordings(params["recordings"]),
        lambda: read_time("from", params["from"]),
        lambda: read_time("to", params["to"]),
        lambda: _read_limit(params["gap_minutes"]),
    )
    end = given_end or datetime.now(UTC)
    if start is not None and start >= end:
        raise ExposureOptionsError(f"from is {start.isoformat()}, which is not before {end.isoformat()}")
    return Period([*dict.fromkeys(params["clusters"])], start, end, limit)


def _check_recordings(place: str) -> None:
    local = local_path(read_recordings(place, by_spark=True))
    if local is not None and not Path(local).is_dir():
        raise ExposureOptionsError(f"{place} has no recordings: there is no such directory on this host")


def _read_limit(minutes: int | None) -> timedelta | None:
    if minutes is not None and not 1 <= minutes <= _MOST_MINUTES:
        raise ExposureOptionsError(f"gap_minutes is {minutes}: give minutes, from 1 to {_MOST_MINUTES}")
    return None if minutes is None else timedelta(minutes=minutes)
