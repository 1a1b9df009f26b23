# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Verify that the survivor is in the recovered quorum, that its log kept all that it had, and that brokers follow.

It may be verified late: then controllers may have been added, another one may lead, and newer snapshots may cover the
planned log.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from .._kafka.errors import BrokerCallError
from .._kafka.quorum import describe_quorum_request, quorum_state
from .._kafka.settings import Address
from .._kafka.wire import Wire
from .._model.quorum import QuorumState
from .._model.run import KafkaOpsError
from .apply import read_survivor
from .copy import CopyState, LogCopy
from .journal import NAME, read_pending, remove_pending
from .plan import QuorumPlan
from .report import Verified
from .scan import CopyReading

_LOOK_EVERY_S = 0.25


class VerifyError(KafkaOpsError):
    """The recovered quorum is not what was planned. The message says what differs."""


def verify(wire: Wire, plan: QuorumPlan, timeout_ms: int) -> Verified:
    """Wait until the recovered quorum has a leader, compare the survivor's log with the plan, and end the journal.

    Raises VerifyError and NodeFileError.
    """
    deadline = time.monotonic() + timeout_ms / 1000
    state = _wait_for_leader(wire, plan, deadline)
    found = read_survivor(plan, mark=plan.end_offset)
    if not _keeps_log(plan, found):
        raise VerifyError(
            f"the log of controller {plan.node_id} differs from the planned one before offset {plan.end_offset}"
        )
    pending = read_pending(plan.log_dir)
    remove_pending(plan.log_dir)
    return Verified(
        leader_id=state.leader_id,
        leader_epoch=state.leader_epoch,
        high_watermark=state.high_watermark or 0,
        voters=tuple(each.replica_id for each in state.voters),
        brokers=tuple(sorted({each.replica_id for each in state.observers})),
        missing_brokers=len(_missing(plan, state)),
        since=tuple(found.since_mark),
        backup=pending.backup if pending is not None else "",
    )


def _keeps_log(plan: QuorumPlan, found: CopyReading) -> bool:
    """Return whether the log has all that the planned one had.

    The checksum begins with a snapshot. Kafka removes old snapshots after some time, with the log before the next one.
    Then the epochs say it: two logs with the same epoch at an offset have the same records before it.
    """
    copy = found.copy
    start = copy.log_start_offset or 0
    if found.checksum_at_mark == plan.checksum:
        return True
    if copy.state is not CopyState.WHOLE or (copy.snapshot == plan.snapshot and start < plan.end_offset):
        return False
    last, following = _epoch_at(copy, plan.end_offset - 1), _epoch_at(copy, plan.end_offset)
    is_changed = following == plan.new_epoch if plan.is_dynamic else (following or 0) > plan.highest_epoch
    return (start >= plan.end_offset or last == plan.epoch) and (start > plan.end_offset or is_changed)


def _epoch_at(copy: LogCopy, offset: int) -> int | None:
    return next((each.epoch for each in copy.lineage_ranges if each.start_offset <= offset < each.end_offset), None)


def _wait_for_leader(wire: Wire, plan: QuorumPlan, deadline: float) -> QuorumState:
    """Return the quorum once it has a leader and has committed the planned log, and each broker follows."""
    survivor = read_survivor(plan).copy
    while True:
        problems = []
        for address in _addresses(plan, survivor):
            try:
                state = quorum_state(wire.call(address, describe_quorum_request()))
            except BrokerCallError as error:
                problems.append(f"{address}: {error}")
                continue
            problem = _problem(plan, survivor, state)
            if state is not None and not problem:
                if not _missing(plan, state) or time.monotonic() >= deadline:
                    return state
                problem = "brokers are missing"
            problems.append(problem)
        if time.monotonic() >= deadline:
            last = "; ".join(dict.fromkeys(problems)) or "no controller answers"
            raise VerifyError(
                f"controller {plan.node_id} does not lead: {last}. Look at its log. The journal "
                f"{Path(plan.log_dir, NAME)} and the backup stay; run again to verify again"
            )
        time.sleep(_LOOK_EVERY_S)


def _addresses(plan: QuorumPlan, survivor: LogCopy) -> Sequence[Address]:
    """Return where a leader may answer: the survivor first, then the voters that were added since."""

    def listeners() -> Iterator[Address]:
        yield from (Address(each.host, each.port) for each in plan.endpoints)
        yield from (Address(one.host, one.port) for each in survivor.voters for one in each.endpoints)
        yield from (Address(each.host, each.port) for each in survivor.static_voters)

    return list(dict.fromkeys(listeners()))


def _missing(plan: QuorumPlan, state: QuorumState) -> set[int]:
    """Return the brokers that should follow and do not. Combined nodes can be voters, or lost with their disk."""
    follow = {each.replica_id for each in (*state.observers, *state.voters)}
    return {*plan.contents.brokers} - follow - {plan.node_id, *plan.lost_voters}


def _problem(plan: QuorumPlan, survivor: LogCopy, state: QuorumState | None) -> str:
    """Return why this is not the recovered quorum, or not yet. Empty if it is."""
    if state is None:
        return "the leader is unknown"
    voters = [each.replica_id for each in state.voters]
    if plan.node_id not in voters:
        return f"the leader is {state.leader_id}, and the voters are {voters}"
    if why := _is_old_quorum(plan, survivor, state):
        return f"the leader is {state.leader_id}, and the voters are {voters}: {why}"
    if state.leader_epoch <= plan.highest_epoch:
        return f"its epoch {state.leader_epoch} is not higher than {plan.highest_epoch}, which another node has seen"
    if (state.high_watermark or 0) <= plan.end_offset:
        return f"it has committed up to offset {state.high_watermark}, and the log had {plan.end_offset} offsets"
    return ""


def _is_old_quorum(plan: QuorumPlan, survivor: LogCopy, state: QuorumState) -> str:
    """Return by which voter this is the quorum before the recovery, in words. Empty if it is the recovered one.

    A lost voter that was added again has another disk. A static quorum does not say so: there, the survivor's own
    properties name those that were added.
    """
    disks = {each.voter_id: each.directory_id for each in plan.old_voters}
    added = {each.voter_id for each in survivor.static_voters}
    for each in state.voters:
        if each.replica_id == plan.node_id:
            continue
        if not plan.is_dynamic:
            if each.replica_id not in added:
                return f"the properties of controller {plan.node_id} do not name voter {each.replica_id}"
        elif each.replica_id in plan.lost_voters and each.directory_id in (None, disks.get(each.replica_id)):
            return f"voter {each.replica_id} is not known to have another disk than before"
    return ""
