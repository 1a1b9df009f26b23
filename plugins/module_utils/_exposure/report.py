# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of what recordings show. It has no secret. Schema: docs/schemas/exposure-report.schema.json.

Standard library only. What is unknown is null, never 0. Seconds are *observed* ones: gaps between snapshots are left
out, and are listed apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from .._cleaner.diagnosis import Case
from .._cleaner.report import SuspiciousCopy
from .._documents.dataclass_json import timed_report
from .._model.fields import (
    INT32_MAX,
    INT64_MAX,
    BrokerId,
    ClusterId,
    Count,
    Meta,
    Moment,
    PartitionIndex,
    SizeBytes,
    TopicName,
)

Seconds: TypeAlias = Annotated[int, Meta("a number of seconds", minimum=0, maximum=INT64_MAX)]
_Records: TypeAlias = Annotated[int, Meta("a number of records", minimum=0, maximum=INT64_MAX)]
_PerDay: TypeAlias = Annotated[int, Meta("a number of bytes each day", minimum=-INT64_MAX, maximum=INT64_MAX)]
_Hours: TypeAlias = Annotated[int, Meta("a number of hours", minimum=0, maximum=INT64_MAX)]
_MinIsr: TypeAlias = Annotated[int, Meta("a min ISR", minimum=1, maximum=INT32_MAX)]
_Brokers: TypeAlias = Annotated[tuple[BrokerId, ...], Meta(description="the brokers are a list of ids")]

NOTHING_RECORDED = (
    "No partition was recorded: there is none, or the principal of the recorder needs DESCRIBE on topics."
)
METHODS = (
    "A state that a snapshot saw counts until the next snapshot. So each begin and end may be wrong by one interval, "
    "and what came and went between two snapshots is not seen.",
    "A gap is an interval between snapshots that is longer than the limit. It counts neither as healthy nor as "
    "unhealthy.",
    "What a broker's death would have cost: the records of the partitions that it led that were beyond the log ends of "
    "all other replicas that answered, and beyond the high watermark if another replica in sync answered. Log ends of "
    "different brokers were read within one look, not at one instant.",
    "Growth is the slope of the least-squares line through the free space, over the whole period and over its last "
    "24 h. A disk is full when its free space of the newest snapshot is used up at this rate.",
    "Log cleaners are inferred from sizes, since no RPC of Kafka returns what a cleaner has left to clean. A copy of a "
    "compacted partition is suspicious if it is twice as large as the smallest other one and 64 MiB larger, or if it "
    "grew by 64 MiB without a compaction while another copy was compacted. Metrics show more: run "
    "kafkaops.recovery.recover_log_cleaners.",
)


@dataclass(frozen=True, slots=True)
class GapRow:
    """A time without snapshots."""

    start: Moment
    end: Moment
    seconds: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """When a cluster was looked at."""

    start: Moment
    end: Moment
    snapshots: Count
    """The snapshots of the period, and the last one before it, which shows the state at its start."""
    first: Moment | None
    last: Moment | None
    usual_seconds: Seconds | None
    gap_seconds: Seconds | None
    """A longer interval between snapshots is a gap."""
    observed_seconds: Seconds
    gaps: tuple[GapRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LowPartition:
    """A partition that was at or below min ISR, or that had no leader."""

    topic: TopicName
    partition: PartitionIndex
    offline_seconds: Seconds
    below_seconds: Seconds
    at_seconds: Seconds
    unknown_seconds: Seconds
    longest_seconds: Seconds
    """The longest stretch, of all three kinds together."""
    longest_at: Moment
    """When a snapshot saw the begin of the longest stretch."""
    snapshots: Count
    """How many snapshots saw it like that."""
    state: str
    """At the end: offline, below, at, above, unknown or gone."""
    min_isr: _MinIsr | None
    replicas: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRow:
    """What a broker did, and what its death would have cost."""

    broker_id: BrokerId
    rack: str | None
    state: str
    """In the newest snapshot; unknown if that lacks the broker."""
    departures: Count
    returns: Count
    away_seconds: Seconds
    longest_away_seconds: Seconds
    longest_away_at: Moment | None
    lag_seconds: Seconds
    """While it answered and was not in sync: the sum over its partitions."""
    most_lagging: Count
    """Partitions in which it lagged at the same time, at most."""
    most_lagging_at: Moment | None
    death_records: _Records
    """Records that only it held, at the worst moment."""
    death_partitions: Count
    death_only_answer_records: _Records
    """Those of them that are in partitions of which no other replica answered."""
    death_at: Moment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskRow:
    """The space of a log directory."""

    broker_id: BrokerId
    log_dir: str
    total_bytes: SizeBytes | None
    usable_bytes: SizeBytes | None
    """Both by the newest snapshot: null if that does not have them."""
    growth_bytes_per_day: _PerDay | None
    growth_bytes_per_day_lately: _PerDay | None
    full_in_hours: _Hours | None
    """Null if it does not grow, or if the space is unknown. 0 if it is full."""
    full_in_hours_lately: _Hours | None


@dataclass(frozen=True, slots=True)
class CleanerRow:
    """What the sizes of the copies of compacted partitions show of a broker's log cleaner. It is an inference."""

    broker_id: BrokerId
    diagnosis: Annotated[Case, Meta("a case")]
    reason: str
    suspects: tuple[SuspiciousCopy, ...]


@dataclass(frozen=True, slots=True)
class RackPartition:
    """A partition whose replicas are all in one rack."""

    topic: TopicName
    partition: PartitionIndex
    rack: str
    brokers: _Brokers


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRow:
    """What the recordings of one cluster show."""

    cluster_id: ClusterId
    coverage: Coverage
    partitions: Count
    """Partitions that were recorded."""
    unknown_partitions: Count
    """Partitions whose state, or min ISR, was unknown for some time."""
    low_partitions: Count
    below_partitions: Count
    """Those of them that a snapshot saw below min ISR, also if it is not known for how long."""
    offline_partitions: Count
    """Those of them that a snapshot saw without a leader."""
    low: Annotated[tuple[LowPartition, ...], Meta(description="the partitions are a list")]
    """Worst first."""
    brokers: tuple[BrokerRow, ...]
    racks: tuple[str, ...]
    one_rack_partitions: Count
    one_rack: Annotated[tuple[RackPartition, ...], Meta(description="the partitions are a list")]
    unknown_rack_partitions: Count
    disks: tuple[DiskRow, ...]
    cleaners: tuple[CleanerRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """What the recordings show, cluster by cluster."""

    place: str
    scope: str
    clusters: tuple[ClusterRow, ...]
    notes: tuple[str, ...]
    methods: tuple[str, ...] = METHODS


EXPOSURE_REPORT, encode_exposure = timed_report(
    "exposure-report", "What recordings of clusters show on a quiet day", Exposure, "a report of exposure is an object"
)
