# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define what one host has of the controllers' metadata log. Pure; standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, TypeAlias

from .._model.fields import ClusterId, Count, LeaderEpoch, Meta, NodeId, Offset, Port, SizeBytes
from .._model.log_contents import LogExtent, Stretches
from .._model.partition import EpochEnd
from .._model.quorum import DirectoryId, Endpoint, FeatureLevel, VoterNode

Checksum: TypeAlias = Annotated[str, Meta(description="a checksum is sha256:<hex>", pattern="^sha256:[0-9a-f]{64}$")]


class CopyState(StrEnum):
    """Whether a copy of the metadata log can be used."""

    WHOLE = "whole"
    """All its batches have valid checksums. A torn tail is no damage."""
    MISSING = "missing"
    """The directory, its meta.properties or its metadata log does not exist: the disk is empty or another one."""
    DAMAGED = "damaged"
    """A batch before the end, or the newest snapshot, is corrupt or cannot be read."""
    UNREADABLE = "unreadable"
    """The files could not be read at all, for example without permission."""


@dataclass(frozen=True, slots=True)
class StaticVoter:
    """One entry of ``controller.quorum.voters``."""

    voter_id: NodeId
    host: str
    port: Port


@dataclass(frozen=True, slots=True)
class OldVoter:
    """A voter before the recovery."""

    voter_id: NodeId
    directory_id: DirectoryId | None
    """None in a static quorum, which names no disks."""
    endpoints: tuple[Endpoint, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The newest complete snapshot: it covers the log before ``end_offset``."""

    end_offset: Offset
    epoch: LeaderEpoch
    size_bytes: SizeBytes


@dataclass(frozen=True, slots=True)
class Vote:
    """The file ``quorum-state``. -1 is Kafka's "none"."""

    leader_id: Annotated[int, Meta(minimum=-1, maximum=2**31 - 1)]
    leader_epoch: Annotated[int, Meta(minimum=-1, maximum=2**31 - 1)]
    voted_id: Annotated[int, Meta(minimum=-1, maximum=2**31 - 1)]
    voters: tuple[NodeId, ...]
    """The ids in it, of a static quorum. A dynamic quorum has none there."""


@dataclass(frozen=True, slots=True)
class Contents:
    """How much cluster metadata the log holds, up to its end and without a transaction that did not end."""

    topics: Count = 0
    partitions: Count = 0
    configs: Count = 0
    acls: Count = 0
    scram_credentials: Count = 0
    quotas: Count = 0
    delegation_tokens: Count = 0
    brokers: tuple[NodeId, ...] = ()
    """Ids of the registered brokers, combined nodes included."""
    features: tuple[str, ...] = ()
    """Each as ``metadata.version=30``, in order of name."""
    not_decoded: Count = 0
    """Records of types or versions that this release does not know."""
    open_transaction: bool = False
    """A metadata transaction (KIP-868) has no end in the log. The next leader aborts it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCopy:
    """One copy of the metadata log. Unknown values are None, never 0."""

    host: str
    """Name in the inventory."""
    properties_file: str | None
    log_dir: str
    """The directory that has meta.properties and ``__cluster_metadata-0``."""
    node_id: NodeId | None = None
    roles: tuple[str, ...] = ()
    """As in ``process.roles``."""
    cluster_id: ClusterId | None = None
    directory_id: DirectoryId | None = None
    state: CopyState
    reason: str = ""
    is_running: bool = False
    """Another process holds the directory's lock."""
    stopped_cleanly: bool | None = None
    static_voters: tuple[StaticVoter, ...] = ()
    """From ``controller.quorum.voters`` in the properties file."""
    advertised: tuple[StaticVoter, ...] = ()
    """Where the node's controller listeners are reached, by its properties."""
    listener_names: tuple[str, ...] = ()
    kraft_version: FeatureLevel = 0
    """0: voters are static. 1: they are in the log (KIP-853)."""
    voters: tuple[VoterNode, ...] = ()
    """The last VotersRecord in snapshot and log."""
    vote: Vote | None = None
    log_start_offset: Offset | None = None
    log_end_offset: Offset | None = None
    lineage_ranges: Stretches = ()
    snapshot: Snapshot | None = None
    ends_before_snapshot: bool = False
    """The node stopped after it had copied a snapshot, and before it cut its log to it, as it does when it starts. All
    other values are those after the cut."""
    snapshots_to_remove: tuple[str, ...] = ()
    """Snapshots that end where a metadata transaction begins. A controller of Kafka 4.3 that leads ends itself then
    (OffsetControlManager keeps the state at the end of the snapshot, and wants that at the record before). All other
    values are without them."""
    is_blocked: bool = False
    """The newest snapshot is one of them, and no log and no older snapshot has what it covers."""
    segment: str | None = None
    """Path of the newest segment."""
    segment_bytes: SizeBytes = 0
    """Its bytes up to the last valid batch."""
    torn_bytes: SizeBytes = 0
    """Bytes after that."""
    last_batch_ms: Annotated[int, Meta(minimum=-1, maximum=2**63 - 1)] = -1
    checksum: Checksum | None = None
    """Over offset, epoch and checksum of each batch from the newest snapshot on, and the snapshot."""
    contents: Contents | None = None

    @property
    def last_epoch(self) -> int:
        """Return the epoch of the last record in log and snapshot. -1 if there is none."""
        return self.rank[0]

    @property
    def rank(self) -> tuple[int, int]:
        """Return what decides which copy is newest, as in Raft: the last epoch, then the end offset."""
        log = (self.lineage_ranges[-1].epoch if self.lineage_ranges else -1, self.log_end_offset or 0)
        return max(log, (self.snapshot.epoch, self.snapshot.end_offset)) if self.snapshot else log

    @property
    def is_controller(self) -> bool:
        return "controller" in self.roles

    @property
    def extent(self) -> LogExtent:
        """Return the log for ``compare_logs``."""
        lineage = tuple(EpochEnd(each.epoch, each.end_offset) for each in self.lineage_ranges)
        return LogExtent(self.log_start_offset or 0, self.log_end_offset or 0, lineage)
