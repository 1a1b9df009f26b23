# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Verify that the survivor leads the recovered quorum, that its log kept all that it had, and that brokers follow."""

from __future__ import annotations

import time
from pathlib import Path

from .._kafka.errors import BrokerCallError
from .._kafka.quorum import describe_quorum_request, quorum_state
from .._kafka.settings import Address
from .._kafka.wire import Wire
from .._model.quorum import QuorumState
from .._model.run import KafkaOpsError
from .journal import NAME, read_pending, remove_pending
from .plan import QuorumPlan
from .report import Verified
from .scan import read_copy

_LOOK_EVERY_S = 0.25


class VerifyError(KafkaOpsError):
    """The recovered quorum is not what was planned. The message says what differs."""


def verify(wire: Wire, plan: QuorumPlan, timeout_ms: int) -> Verified:
    """Wait until the survivor leads, compare its log with the plan, and end the journal.

    Raises VerifyError.
    """
    deadline = time.monotonic() + timeout_ms / 1000
    state = _wait_for_leader(wire, plan, deadline)
    found = read_copy(plan.host, plan.log_dir, None, mark=plan.end_offset)
    if found.checksum_at_mark != plan.checksum and (found.copy.log_start_offset or 0) < plan.end_offset:
        raise VerifyError(
            f"the log of controller {plan.node_id} differs from the planned one before offset {plan.end_offset}"
        )
    pending = read_pending(plan.log_dir)
    remove_pending(plan.log_dir)
    since = tuple(found.since_mark)
    brokers = tuple(sorted({each.replica_id for each in state.observers}))
    backup = pending.backup if pending is not None else ""
    return Verified(
        leader_epoch=state.leader_epoch,
        high_watermark=state.high_watermark or 0,
        brokers=brokers,
        missing_brokers=len(_missing(plan, state)),
        since=since,
        backup=backup,
    )


def _wait_for_leader(wire: Wire, plan: QuorumPlan, deadline: float) -> QuorumState:
    """Return the quorum once the survivor leads it alone, has committed the planned log, and each broker follows."""
    last = "no controller answers"
    state: QuorumState | None = None
    while True:
        for endpoint in plan.endpoints:
            address = Address(endpoint.host, endpoint.port)
            try:
                state = quorum_state(wire.call(address, describe_quorum_request()))
            except BrokerCallError as error:
                last = f"{address}: {error}"
                continue
            problem = _problem(plan, state)
            if state is None or problem:
                last = problem
                continue
            if not _missing(plan, state) or time.monotonic() >= deadline:
                return state
            last = "brokers are missing"
        if time.monotonic() >= deadline:
            raise VerifyError(
                f"controller {plan.node_id} does not lead: {last}. Look at its log. The journal "
                f"{Path(plan.log_dir, NAME)} and the backup stay; run again to verify again"
            )
        time.sleep(_LOOK_EVERY_S)


def _missing(plan: QuorumPlan, state: QuorumState) -> set[int]:
    """Return the brokers that should follow and do not. Combined nodes can be the survivor, or lost with their disk."""
    follow = {each.replica_id for each in state.observers}
    return {*plan.contents.brokers} - follow - {plan.node_id, *plan.lost_voters}


def _problem(plan: QuorumPlan, state: QuorumState | None) -> str:
    if state is None or state.leader_id != plan.node_id:
        return f"the leader is {'unknown' if state is None else state.leader_id}"
    voters = [each.replica_id for each in state.voters]
    if voters != [plan.node_id]:
        return f"the voters are {voters}"
    if state.leader_epoch <= plan.highest_epoch:
        return f"its epoch {state.leader_epoch} is not higher than {plan.highest_epoch}, which another node has seen"
    if (state.high_watermark or 0) <= plan.end_offset:
        return f"it has committed up to offset {state.high_watermark}, and the log had {plan.end_offset} offsets"
    return ""
