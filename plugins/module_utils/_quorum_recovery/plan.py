# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan the recovery of a quorum whose majority is lost: which copy of the log goes on, and what that forgets.

1. Rank the copies of controllers: the highest epoch of a last batch wins, then the highest end offset.
2. Collect every reason against a recovery, so that one look shows all of them.
3. Name what the winner lacks of each other copy.
4. Derive the least change: one VotersRecord at the end of the winner's log, or the voters in the properties.

Pure; standard library only. Schema: docs/schemas/quorum-recovery-plan.schema.json.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, TypeAlias

from .._documents.dataclass_json import codec, document
from .._documents.files import digest
from .._model.fields import (
    SCHEMA_VERSION,
    ClusterId,
    LeaderEpoch,
    Meta,
    NodeId,
    Offset,
    SchemaVersion,
    SizeBytes,
)
from .._model.log_contents import EpochRange, Stretches, compare_logs, records_in, stretches_with_epochs, union
from .._model.quorum import DirectoryId, Endpoint, VoterNode
from .beyond import Beyond, Overtaken, brokers_to_start_last, newest_overtaken
from .copy import Checksum, Contents, CopyState, LogCopy, OldVoter, Snapshot, StaticVoter
from .refusals import find_refusals, old_voters

_NEWEST_KRAFT_VERSION = 1
Said: TypeAlias = tuple[tuple[str, ...], tuple[Overtaken, ...]]
"""What records say in words, and which replicas they overtook."""


@dataclass(frozen=True, slots=True)
class VotersChange:
    """``controller.quorum.voters`` in one properties file."""

    host: str
    path: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumPlan:
    """How one copy of the metadata log becomes the log of a quorum with one voter."""

    schema_version: SchemaVersion = field(default=SCHEMA_VERSION, init=False)
    digest: Annotated[str, Meta(description="a digest is sha256:<hex>")] = ""
    cluster_id: ClusterId
    host: str
    """The host, in the inventory, whose copy goes on."""
    node_id: NodeId
    directory_id: DirectoryId | None
    log_dir: str
    is_dynamic: Annotated[bool, Meta(description="whether the voters are in the log (kraft.version 1)")]
    old_voters: tuple[OldVoter, ...]
    lost_voters: tuple[NodeId, ...]
    checksum: Checksum
    """The checksum of the copy that the plan was made from. A copy with another one is not changed."""
    end_offset: Offset
    epoch: LeaderEpoch
    segment: str | None
    segment_bytes: SizeBytes
    torn_bytes: SizeBytes
    snapshot: Snapshot | None
    """The snapshot that the checksum begins with."""
    snapshots_to_remove: tuple[str, ...]
    """Newer snapshots, with which the controller would end itself. The backup has them."""
    voter: VoterNode | None
    """The one voter of the VotersRecord. None if the voters are static."""
    time_ms: Annotated[int, Meta("a time in POSIX milliseconds", minimum=0, maximum=2**63 - 1)]
    """The time of the batch with this record. It is the time of the batch before it."""
    voters_changes: tuple[VotersChange, ...]
    highest_epoch: LeaderEpoch
    """The highest epoch that any copy or vote has."""
    endpoints: tuple[Endpoint, ...]
    """Where the survivor's controller listeners are reached."""
    contents: Contents
    forgets: tuple[Beyond, ...]
    replaces: Annotated[str, Meta(description="a digest is sha256:<hex>, or empty")] = ""
    """The digest of an earlier plan whose journal is still there, although others were added after it."""

    @property
    def new_epoch(self) -> int:
        """The epoch of the VotersRecord. No copy has it: one that is ahead must not have it at the same offset."""
        return self.highest_epoch + 1

    @property
    def changed_end_offset(self) -> int:
        """The end offset of the log once it is changed, and before the controller has written anything."""
        return self.end_offset + bool(self.voter)

    @property
    def lost_brokers(self) -> tuple[int, ...]:
        """Return the lost voters that are brokers, too, by their registrations in the log."""
        return tuple(each for each in self.lost_voters if each in self.contents.brokers)


_CODEC = codec(QuorumPlan, "a plan of a quorum's recovery is an object")
QUORUM_RECOVERY_PLAN = document("quorum-recovery-plan", "How a controller quorum is recovered", _CODEC.schema)
decode_plan = _CODEC.decode


@dataclass(frozen=True, slots=True)
class QuorumDecision:
    """A plan, or every reason why there is none."""

    plan: QuorumPlan | None
    refusals: tuple[str, ...]
    must_stop: tuple[str, ...]
    """Nodes that have to be stopped before the plan is carried out."""
    beyond: tuple[Beyond, ...]
    notes: tuple[str, ...]
    absent: tuple[str, ...] = ()
    """Why a begun recovery can be neither continued nor undone by this run: hosts are not in it."""


def encode_plan(plan: QuorumPlan) -> dict[str, Any]:
    """Return the plan as JSON values, with its digest."""
    encoded = _CODEC.encode(plan)
    return encoded | {"digest": digest(encoded)}


def decide(
    copies: Sequence[LogCopy],
    lost: Collection[int],
    answering: Mapping[int, str] | None = None,
    said: Mapping[str, Said] | None = None,
    answered_by_others: Collection[int] = (),
) -> QuorumDecision:
    """Plan the recovery.

    Args:
        copies: what each host has.
        lost: ids of the voters that the operator declares lost for good.
        answering: where something answers for a voter, by its id.
        said: by host, what the records say that the winner lacks, once they were read.
        answered_by_others: ids of lost voters at whose addresses something else answers, as the operator says.
    """
    others = {each: where for each, where in (answering or {}).items() if each in answered_by_others and each in lost}
    answering = {each: where for each, where in (answering or {}).items() if each not in others}
    usable = [each for each in copies if each.state is CopyState.WHOLE and each.log_end_offset]
    controllers = [each for each in usable if each.is_controller]
    survivor = max(controllers, key=lambda each: (each.rank, _names_itself(each)), default=None)
    if survivor is None:
        reasons = [f"{each.host}: {each.reason}" for each in copies if each.reason]
        why = f": {'; '.join(reasons)}" if reasons else ""
        refusal = f"no controller's disk has a whole metadata log{why}{_newest_of_brokers(usable)}"
        return QuorumDecision(None, (refusal,), (), (), ())
    voters = {each.voter_id for each in old_voters(survivor)}
    held = [each for each in controllers if _is_voter(each, survivor, voters)]
    refusals = tuple(find_refusals(copies, survivor, held, lost, answering))
    beyond = tuple(_beyond(survivor, [each for each in usable if each is not survivor], said or {}))
    running = [each for each in held if each.is_running]
    must_stop = (
        *map(name_controller, running),
        *overtaken_that_run(copies, running, beyond),
    )
    plan = None if refusals else _plan(copies, survivor, lost, beyond)
    notes = (*notes_on_others(others), *_notes(copies, survivor))
    return QuorumDecision(plan, refusals, must_stop, beyond, notes)


def overtaken_that_run(copies: Sequence[LogCopy], others: Sequence[LogCopy], beyond: Sequence[Beyond]) -> Iterator[str]:
    """Yield the brokers that run although they must start last, but for those that are in ``others``."""
    last = brokers_to_start_last(newest_overtaken(beyond))
    for each in copies:
        if each.node_id in last and each.is_running and each not in others:
            yield f"broker {each.node_id} on {each.host}, whose replicas are overtaken"


def name_controller(copy: LogCopy) -> str:
    """Return which controller runs, and how it is stopped if that is not obvious."""
    how = " (it is a broker, too: kill it, because its controlled shutdown waits for a leader of the controllers)"
    return f"controller {copy.node_id} on {copy.host}{how if 'broker' in copy.roles else ''}"


def _newest_of_brokers(usable: Sequence[LogCopy]) -> str:
    """Return a text about the broker whose copy can go on if no controller's is left."""
    found = max((each for each in usable if not each.is_controller), key=lambda each: each.rank, default=None)
    if found is None:
        return ". Brokers have copies, too: add their hosts to the run (quorum_recovery_hosts)"
    return (
        f". The newest copy of a broker is that of broker {found.node_id} on {found.host}, in epoch {found.last_epoch} "
        f'up to offset {found.log_end_offset}: docs/quorum.md says how it goes on ("No controller\'s disk is left")'
    )


def _names_itself(copy: LogCopy) -> bool:
    """Return whether a controller is a voter. One that was not added yet follows the log like a broker."""
    return copy.node_id in {each.voter_id for each in old_voters(copy)}


def _is_voter(copy: LogCopy, survivor: LogCopy, voters: Collection[int]) -> bool:
    """Return whether a node is an old voter with its old disk: a new disk has another directory id."""
    if copy.node_id not in voters or copy.cluster_id != survivor.cluster_id:
        return False
    known = next((each.directory_id for each in survivor.voters if each.voter_id == copy.node_id), None)
    return not survivor.kraft_version or known in (None, copy.directory_id)


def _beyond(survivor: LogCopy, others: Sequence[LogCopy], said: Mapping[str, Said]) -> Iterator[Beyond]:
    mine = stretches_with_epochs(survivor.extent)
    for each in others:
        hidden = _only_in_snapshot(survivor, each)
        lost = union([hidden, compare_logs(survivor.extent, mine, stretches_with_epochs(each.extent)).lost])
        if lost:
            says, overtaken = said.get(each.host, ((), ()))
            yield Beyond(
                each.host,
                each.node_id,
                each.is_controller,
                lost,
                records_in(lost),
                says,
                overtaken,
                records_in_snapshot=records_in(hidden),
            )


def _only_in_snapshot(survivor: LogCopy, other: LogCopy) -> Stretches:
    """Return what another log has after the end of the survivor's and before its own start.

    It may be of several epochs. The snapshot's is that of the last record.
    """
    end, start = survivor.log_end_offset or 0, other.log_start_offset or 0
    return (EpochRange(other.snapshot.epoch, end, start),) if other.snapshot is not None and end < start else ()


def notes_on_others(others: Mapping[int, str]) -> Iterator[str]:
    """Yield where another program answers in the place of a lost voter, by the voter's id."""
    for node_id, where in sorted(others.items()):
        yield f"{where} answers. It is not voter {node_id}, as quorum_recovery_answered_by_others says"


def _notes(copies: Sequence[LogCopy], survivor: LogCopy) -> Iterator[str]:
    for each in copies:
        if each.state in (CopyState.DAMAGED, CopyState.UNREADABLE):
            more = ""
            if each.rank > survivor.rank:
                more = f" Its readable part ends at offset {each.log_end_offset}, after the log that is used"
            yield f"{each.host}: the copy of node {each.node_id} is {each.state} and not used: {each.reason}.{more}"
    if survivor.torn_bytes:
        yield f"{survivor.segment}: the last {survivor.torn_bytes} bytes are no whole batch, and are cut off"
    for path in survivor.snapshots_to_remove:
        yield (
            f"{path}: a metadata transaction begins where this snapshot ends, and with it the controller would end "
            "itself when it leads. An older snapshot, or the log, has all that it covers, so it is removed"
        )
    if all(each.is_controller for each in copies):
        yield (
            "no broker's copy was read. A broker may be ahead, and know that a replica that the recovered controller "
            "may elect is not in sync any more: add the brokers' hosts to the run (quorum_recovery_hosts)"
        )
    if survivor.contents is not None and survivor.contents.open_transaction:
        yield (
            "a metadata transaction has no end in the log: its records do not count, and the new leader aborts it; "
            "brokers of Kafka 3.9 and 4.0 may show its topics all the same"
        )


def _plan(
    copies: Sequence[LogCopy],
    survivor: LogCopy,
    lost: Collection[int],
    beyond: tuple[Beyond, ...],
) -> QuorumPlan:
    is_dynamic = bool(survivor.kraft_version)
    votes = [each.vote.leader_epoch for each in copies if each.vote is not None]
    plan = QuorumPlan(
        cluster_id=survivor.cluster_id or "",
        host=survivor.host,
        node_id=survivor.node_id or 0,
        directory_id=survivor.directory_id,
        log_dir=survivor.log_dir,
        is_dynamic=is_dynamic,
        old_voters=old_voters(survivor),
        lost_voters=tuple(sorted(lost)),
        checksum=survivor.checksum or "",
        end_offset=survivor.log_end_offset or 0,
        epoch=max(survivor.last_epoch, 0),
        segment=survivor.segment,
        segment_bytes=survivor.segment_bytes,
        torn_bytes=survivor.torn_bytes,
        snapshot=survivor.snapshot,
        snapshots_to_remove=survivor.snapshots_to_remove,
        voter=_voter(survivor) if is_dynamic else None,
        time_ms=max(survivor.last_batch_ms, 0),
        voters_changes=() if is_dynamic else tuple(_voters_changes(copies, survivor)),
        highest_epoch=max([0, *votes, *(each.last_epoch for each in copies)]),
        endpoints=_endpoints(survivor),
        contents=survivor.contents or Contents(),
        forgets=beyond,
    )
    return with_digest(plan)


def with_digest(plan: QuorumPlan) -> QuorumPlan:
    """Return the plan with the digest of what it says now."""
    return replace(plan, digest=encode_plan(plan)["digest"])


def _endpoints(survivor: LogCopy) -> tuple[Endpoint, ...]:
    """Return where the survivor is reached: as the voters say, or else as its properties say."""
    known = next((each for each in survivor.voters if each.voter_id == survivor.node_id), None)
    if known is not None:
        return known.endpoints
    named = zip(survivor.listener_names, survivor.advertised, strict=True)
    found = tuple(Endpoint(name, each.host, each.port) for name, each in named)
    static = tuple(each for each in survivor.static_voters if each.voter_id == survivor.node_id)
    return tuple(Endpoint("CONTROLLER", each.host, each.port) for each in static) or found


def _voter(survivor: LogCopy) -> VoterNode:
    """Return the survivor as the voters in its log name it, with the directory id of its disk."""
    known = next((each for each in survivor.voters if each.voter_id == survivor.node_id), None)
    if known is not None:
        return replace(known, directory_id=survivor.directory_id or known.directory_id)
    return VoterNode(survivor.node_id or 0, survivor.directory_id or "", _endpoints(survivor), 0, _NEWEST_KRAFT_VERSION)


def _voters_changes(copies: Sequence[LogCopy], survivor: LogCopy) -> Iterator[VotersChange]:
    """Yield a change for each properties file that names voters, also of lost controllers and of brokers."""
    after = format_voters(tuple(each for each in survivor.static_voters if each.voter_id == survivor.node_id))
    for each in copies:
        before = format_voters(each.static_voters)
        if each.static_voters and each.properties_file and before != after:
            yield VotersChange(each.host, each.properties_file, before, after)


def format_voters(voters: tuple[StaticVoter, ...]) -> str:
    """Return the value of ``controller.quorum.voters``."""
    return ",".join(
        f"{each.voter_id}@{f'[{each.host}]' if ':' in each.host else each.host}:{each.port}" for each in voters
    )
