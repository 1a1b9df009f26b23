# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names of recordings. Standard library only.

``ROOT/cluster_id=ID/scope=SCOPE/snapshot=TIME-KIND-NUMBER/{replicas,brokers}/*.parquet``
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar
from urllib.parse import quote, unquote

from .._model.reasons import plural
from .._model.run import KafkaOpsError
from .._spark.options import is_uri, local_uri

Result = TypeVar("Result")

REPLICAS, BROKERS = "replicas", "brokers"
SNAPSHOT = "snapshot"
"""The column that Spark makes of the directory of a snapshot."""
CLUSTER, SCOPE = "cluster_id=", "scope="
_FULL, _PART = "full", "part"
_NAME = re.compile(rf"{SNAPSHOT}=(\d{{8}}T\d{{9}})Z-({_FULL}|{_PART})-[0-9a-f]{{6}}")
_TIME_IN_NAME = re.compile(r"(\d{8}T\d{9})Z")
_CLUSTER_ID = re.compile(r"[!-~]{1,64}")


class RecordingError(KafkaOpsError):
    """Recordings cannot be read or written."""


class DamagedSnapshotError(RecordingError):
    """Snapshots are damaged: their files are truncated, changed or missing."""

    def __init__(self, names: Collection[str]) -> None:
        """``names`` are those of the snapshots' directories."""
        super().__init__(f"{', '.join(sorted(names))} cannot be read: it is damaged")
        self.names = frozenset(names)


class SnapshotName(NamedTuple):
    """The name of a snapshot. Names are in the order of their times."""

    text: str
    at: datetime
    is_full: bool

    @classmethod
    def new(cls, at: datetime, *, is_full: bool) -> SnapshotName:
        return cls(
            f"{SNAPSHOT}={time_text(at)}-{_FULL if is_full else _PART}-{secrets.token_hex(3)}",
            _read_time(time_text(at)[:-1]),
            is_full,
        )

    @classmethod
    def parse(cls, text: str) -> SnapshotName | None:
        """Return None for the name of something else."""
        found = _NAME.fullmatch(text)
        at = time_in_name(text) if found else None
        return cls(text, at, found[2] == _FULL) if found and at else None


def time_text(at: datetime) -> str:
    """Return a time as it is in names."""
    return at.astimezone(UTC).strftime("%Y%m%dT%H%M%S%f")[:-3] + "Z"


def _read_time(text: str) -> datetime:
    # Python reads %f of three digits as milliseconds.
    return datetime.strptime(text, "%Y%m%dT%H%M%S%f").replace(tzinfo=UTC)


def since_full(names: Sequence[SnapshotName]) -> list[SnapshotName]:
    """Return the newest full snapshot and those after it, oldest first. Empty if there is no full one."""
    ordered = sorted(names)
    last = next((place for place in reversed(range(len(ordered))) if ordered[place].is_full), None)
    return [] if last is None else ordered[last:]


def usable(names: Iterable[SnapshotName], damaged: Collection[str]) -> list[SnapshotName]:
    """Return the snapshots without the damaged ones, and without the parts after each until the next full one.

    A part says only what changed since the snapshot before, so it says nothing certain without that.
    """
    found: list[SnapshotName] = []
    is_lost = False
    for each in sorted(names):
        is_lost = each.text in damaged or (is_lost and not each.is_full)
        if not is_lost:
            found.append(each)
    return found


def read_around_damaged(read: Callable[[frozenset[str]], Result]) -> tuple[Result, frozenset[str]]:
    """Call ``read`` until it finds no further damaged snapshot. Return its result, and the names of the damaged ones.

    ``read`` is given the names of those that are known, and raises DamagedSnapshotError for others.
    """
    damaged: frozenset[str] = frozenset()
    while True:
        try:
            return read(damaged), damaged
        except DamagedSnapshotError as error:
            if error.names <= damaged:
                raise
            damaged |= error.names


def explain_damaged(all_names: Sequence[SnapshotName], damaged: Collection[str]) -> str:
    """Say which snapshots are not used because some are damaged."""
    more = len(all_names) - len(usable(all_names, damaged)) - len(damaged)
    with_more = f", and the {more} that only say what changed since" if more else ""
    return f"damaged snapshots are not used: {', '.join(sorted(damaged))}{with_more}"


def explain_later(names: Sequence[SnapshotName]) -> str:
    """Say that snapshots are from the future."""
    return (
        f"{plural(len(names), 'snapshot', 'are')} newer than this host's clock, up to "
        f"{names[-1].at.isoformat(timespec='seconds')}, and are not used: this clock, or that of the host that "
        "recorded them, is wrong or was"
    )


def names_in(text: str) -> frozenset[str]:
    """Return the names of all snapshots that a text mentions."""
    return frozenset(each[0] for each in _NAME.finditer(text))


def expired(names: Sequence[SnapshotName], cutoff: datetime) -> list[SnapshotName]:
    """Return the snapshots that are not needed to know what was recorded at ``cutoff`` and later."""
    kept_from = max((each for each in names if each.is_full and each.at <= cutoff), default=None)
    return [] if kept_from is None else sorted(each for each in names if each < kept_from)


def root_uri(place: str) -> str:
    """Return the URI of a directory, which is given as a path or as a URI."""
    return place.rstrip("/") if is_uri(place) else local_uri(place)


def cluster_uri(root: str, cluster_id: str) -> str:
    """Return the URI of a cluster's recordings. Raises RecordingError for what is no cluster id."""
    if not _CLUSTER_ID.fullmatch(cluster_id):
        raise RecordingError(f"{cluster_id!r} is no cluster id: it has 1 to 64 characters, and no spaces")
    return f"{root_uri(root)}/{_cluster_directory(cluster_id)}"


def _cluster_directory(cluster_id: str) -> str:
    # Kafka takes any id, also prod/eu. Spark reads %2F in the name of a partition's directory as a slash.
    return f"{CLUSTER}{quote(cluster_id, safe='')}"


def clusters_in(directories: Iterable[str]) -> list[str]:
    """Return the ids of the clusters that have these directories, in order. Other directories are left out."""
    named = ((each, unquote(each.removeprefix(CLUSTER))) for each in directories if each.startswith(CLUSTER))
    return sorted(name for each, name in named if _CLUSTER_ID.fullmatch(name) and each == _cluster_directory(name))


def explain_others(clusters: Sequence[str]) -> str:
    """Say which clusters were recorded instead."""
    return f"it has those of {', '.join(clusters)}" if clusters else "it has none at all"


def scope_directory(scope: str) -> str:
    """Return the name of the directory of a scope: recordings of different scopes are apart."""
    return f"{SCOPE}{hashlib.sha256(scope.encode()).hexdigest()[:8] if scope else 'all'}"


def time_in_name(text: str) -> datetime | None:
    """Return the time in the name of any directory of recordings, a hidden one too. None if no calendar has it."""
    found = _TIME_IN_NAME.search(text)
    with suppress(ValueError):
        return _read_time(found[1]) if found else None
    return None
