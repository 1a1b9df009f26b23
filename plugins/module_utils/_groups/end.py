# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""End hanging transactions one by one, each only if it still hangs. A marker cannot be undone.

One of which the salvage has the COMMIT marker is committed again: an abort would take away records and offsets that
were acknowledged. All others are aborted, if the operator allows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .._kafka.cluster import Cluster
from .._kafka.errors import BrokerCallError
from .._kafka.port import Kafka
from .._kafka.transactions import TRANSACTION_LIMIT, OpenTransaction
from .._model.partition import Cause
from .hanging import TransactionLook
from .plan import Ending, EndOutcome, TransactionStatus, TransactionStep, end_outcome

_ENDINGS = {
    Ending.COMMIT: "the salvage has its COMMIT marker, which the present log lacks",
    Ending.ABORT: "the salvage has its ABORT marker, which the present log lacks",
    Ending.NOT_KNOWN: "no salvage was given that says how it ended",
}


def foresee_end(step: TransactionStep, found: TransactionLook, *, is_allowed: bool) -> EndOutcome:
    """Compare a planned end with what was found now."""
    status, why = _judge(step, found)
    if status is TransactionStatus.WOULD_ABORT and not is_allowed:
        why = f"it is not aborted without the operator's word; {_ENDINGS[step.ending]}"
        return end_outcome(step, TransactionStatus.HANGING, why)
    return end_outcome(step, status, why)


def _judge(step: TransactionStep, found: TransactionLook) -> tuple[TransactionStatus, str]:
    name = step.topic_partition
    if name in found.unanswered or name not in found.leaders:
        return TransactionStatus.UNKNOWN, "its leader did not report its open transactions"
    now = found.open.get((name, step.producer_id))
    if now is None or now.start_offset != step.start_offset:
        return TransactionStatus.DONE_BEFORE, "it is not open any more, or a coordinator has it again"
    if found.missing:
        return TransactionStatus.UNKNOWN, f"a coordinator may have it: {found.missing}"
    if step.ending is Ending.COMMIT:
        return TransactionStatus.WOULD_COMMIT, _ENDINGS[step.ending]
    if found.limit_ms is None:
        return TransactionStatus.UNKNOWN, f"{TRANSACTION_LIMIT} is not known: grant DESCRIBE_CONFIGS on the cluster"
    if now.last_timestamp_ms < 0:
        return TransactionStatus.UNKNOWN, "the time of its newest record is not known"
    left_ms = now.last_timestamp_ms + found.limit_ms - found.now_ms
    if left_ms > 0:
        why = f"its producer may still use it: look again in {left_ms / 1000:.0f} s ({TRANSACTION_LIMIT})"
        return TransactionStatus.RECENT, why
    return TransactionStatus.WOULD_ABORT, ""


@dataclass(frozen=True, slots=True)
class MarkerWriter:
    """Writes markers to the leaders that a look found."""

    kafka: Kafka
    cluster: Cluster
    found: TransactionLook
    why_stopped: Callable[[], str]
    """Returns why nothing more may be written; empty if it may."""

    def end(self, step: TransactionStep) -> EndOutcome:
        """Write one marker, if the same transaction is still open, and read it back."""
        if why := self.why_stopped():
            return end_outcome(step, TransactionStatus.STOPPED, why)
        name, commits = step.topic_partition, step.ending is Ending.COMMIT
        leader = self.cluster.addresses[self.found.leaders[name]]
        expected = self.found.open[name, step.producer_id]
        try:
            if (now := self._open(step)) != expected:
                if now is None:
                    return end_outcome(step, TransactionStatus.DONE_BEFORE, "it ended meanwhile")
                return end_outcome(step, TransactionStatus.CHANGED, "its producer has written since: it stays open")
            refused = self.kafka.end_transaction(leader, name, expected, commits=commits)
            if refused is None and self._open(step) is not None:
                refused = "it is still open after the request"
        except BrokerCallError as error:
            why = f"{error}; run this again: it ends only what is still open"
            return end_outcome(step, TransactionStatus.FAILED, why)
        if refused:
            return end_outcome(step, TransactionStatus.FAILED, refused)
        return end_outcome(step, TransactionStatus.COMMITTED if commits else TransactionStatus.ABORTED)

    def _open(self, step: TransactionStep) -> OpenTransaction | None:
        """Return the transaction as its leader reports it now; None if it is not open.

        Raises BrokerCallError, also if the leader does not report the partition.
        """
        name = step.topic_partition
        leader = self.cluster.addresses[self.found.leaders[name]]
        reported = self.kafka.open_transactions(leader, [name])
        if name not in reported:
            raise BrokerCallError(str(leader), Cause.ERROR, f"it does not report the producers of {name}")
        of_producer = [each for each in reported[name] if each.producer_id == step.producer_id]
        return next((each for each in of_producer if each.start_offset == step.start_offset), None)
