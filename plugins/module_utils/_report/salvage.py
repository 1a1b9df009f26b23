# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a report uses of the documents of a salvage: its manifest, and the reports of salvage and replay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from .._documents.dataclass_json import Schema, codec, document
from .._model.fields import INT64_MAX, BrokerId, ClusterId, LeaderEpoch, Meta, Offset, PartitionIndex, Time, TopicName
from .._salvage.replayed import LeftOut
from .survey import in_snake_case

_Count: TypeAlias = Annotated[int, Meta("a number", minimum=0, maximum=INT64_MAX)]


@dataclass(frozen=True, slots=True)
class _Range:
    epoch: LeaderEpoch
    start_offset: Offset
    end_offset: Offset


_Ranges: TypeAlias = Annotated[
    tuple[Annotated[_Range, Meta(description="a range is an object")], ...],
    Meta(description="the ranges are a list"),
]


@dataclass(frozen=True, slots=True)
class _SavedPartition:
    topic: TopicName
    partition: PartitionIndex
    ranges: _Ranges
    records: _Count
    aborted: _Count
    undecodable_batches: _Count


@dataclass(frozen=True, slots=True)
class _HeldPartition:
    topic: TopicName
    partition: PartitionIndex
    ranges: _Ranges


@dataclass(frozen=True, slots=True)
class _Origin:
    broker_id: BrokerId
    log_dirs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Manifest:
    salvage_id: str
    cluster_id: ClusterId
    taken_at: Time
    origins: Annotated[
        tuple[Annotated[_Origin, Meta(description="an origin is an object")], ...],
        Meta(description="the origins are a list"),
    ]
    partitions: Annotated[
        tuple[Annotated[_SavedPartition, Meta(description="a saved partition is an object")], ...],
        Meta(description="the saved partitions are a list"),
    ]
    held: Annotated[
        tuple[Annotated[_HeldPartition, Meta(description="what was held of a partition is an object")], ...],
        Meta(description="what was held is a list"),
    ]


@dataclass(frozen=True, slots=True)
class _SavedOfDisk:
    ranges: _Ranges
    records: _Count
    bytes: _Count
    committed: _Count
    aborted: _Count
    unknown: _Count
    undecodable_batches: _Count


@dataclass(frozen=True, slots=True)
class _Damage:
    kind: str
    position: _Count
    size: _Count
    from_offset: Offset
    to_offset: Offset | None


@dataclass(frozen=True, slots=True)
class _DamagedFile:
    path: str
    damage: Annotated[_Damage, Meta(description="what could not be read is an object")]


@dataclass(frozen=True, slots=True)
class _DiskPartition:
    topic: TopicName
    partition: PartitionIndex
    status: str
    reason: str
    lost: _Ranges
    unreadable: _Ranges
    before_log_start: _Ranges
    damages: tuple[_DamagedFile, ...]
    saved: Annotated[_SavedOfDisk, Meta(description="what was saved is an object")] | None


@dataclass(frozen=True, slots=True)
class _Commit:
    group: str
    topic: TopicName
    partition: PartitionIndex
    saved_offset: Offset
    committed_offset: Offset | None


@dataclass(frozen=True, slots=True)
class _DiskReport:
    cluster_id: ClusterId
    salvage_id: str | None
    salvage_dir: str
    broker_id: BrokerId
    log_dirs: tuple[str, ...]
    started_at: Time
    finished_at: Time
    partitions: Annotated[
        tuple[Annotated[_DiskPartition, Meta(description="a replica on a disk is an object")], ...],
        Meta(description="the replicas are a list"),
    ]
    newer_commits: tuple[_Commit, ...]


@dataclass(frozen=True, slots=True)
class _ReplayedPartition:
    topic: TopicName
    partition: PartitionIndex
    target_topic: TopicName
    status: str
    reason: str
    saved: _Count
    to_give: _Count
    given: _Count
    given_before: _Count
    superseded: _Count
    left_out: Annotated[Mapping[str, _Count], Meta(description="what was left out is an object", keys=LeftOut)]
    """Without the reasons of which there was no record."""


@dataclass(frozen=True, slots=True)
class _ReplayReport:
    cluster_id: ClusterId
    salvage_id: str
    salvage_dir: str
    started_at: Time
    finished_at: Time
    target: str
    partitions: Annotated[
        tuple[Annotated[_ReplayedPartition, Meta(description="a partition that was given back is an object")], ...],
        Meta(description="the partitions are a list"),
    ]


def _schema(kind: type, name: str, title: str) -> Schema:
    return document(name, title, in_snake_case(codec(kind, f"{title} is an object").schema))


MANIFEST = _schema(_Manifest, "salvage-manifest", "a manifest of a salvage")
DISK_REPORT = _schema(_DiskReport, "salvage-report", "a report of a salvage")
REPLAY_REPORT = _schema(_ReplayReport, "replay-report", "a report of a replay")
REPLAY_REPORT["properties"]["partitions"]["items"]["properties"]["left_out"]["required"] = []
