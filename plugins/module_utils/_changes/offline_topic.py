# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Recover the run topic, when the brokers of a dead run's journal died too.

By the rule of every recovery: the surviving replica whose last record has the newest leader epoch, and of those the one
that has the most records. Nothing else can be put back before its undo records can be read.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from .._kafka.addresses import Address
from .._kafka.elections import UNCLEAN
from .._kafka.errors import BrokerCallError, NoBrokerAnswersError, RequestRefusedError
from .._kafka.port import Kafka
from .._model.partition import Broker, BrokerState, PartitionState
from .._model.replica_log import ReplicaLog
from .record import JournalError
from .waiting import poll_until

_PROBE_S = 10.0
_SEEN_S = 15.0


class JournalLostError(JournalError):
    """No replica of the run topic is left that could be elected."""


def recover_topic(
    kafka: Kafka, state: PartitionState, brokers: Collection[Broker], addresses: Sequence[Address]
) -> str:
    """Elect the best surviving replica of the run topic, and return what was done, for a person.

    Raises JournalLostError when no replica of it is left on a living broker, or JournalError.
    """
    best = _best(kafka, state, brokers)
    if best is None:
        raise JournalLostError(
            f"the journal of an earlier run is lost: topic {state.topic} (id {state.topic_id}) has no leader, and none "
            f"of its replicas on brokers {[*state.replicas]} answers. Start one of these brokers; or, to give up what "
            "that run had not put back yet, set journal_discard_lost (of a role: kafka_journal_discard_lost)"
        )
    partition = state.topic_partition
    order = [best.broker_id, *(each for each in state.replicas if each != best.broker_id)]
    problem = ""
    for address in addresses:
        try:
            # Where a broker of the list is not registered any more, the reorder is refused and the election is not.
            kafka.reorder(address, {partition: order})
            kafka.elect(address, UNCLEAN, [partition])
        except (RequestRefusedError, BrokerCallError) as error:
            problem = str(error)
        else:
            break

    def is_led() -> bool:
        try:
            seen = kafka.see([partition]).states.get(partition)
        except (NoBrokerAnswersError, BrokerCallError):
            return False
        return seen is not None and not seen.is_offline

    if not poll_until(is_led, _SEEN_S):
        raise JournalError(
            f"the journal, topic {state.topic}, has no leader, and broker {best.broker_id} could not be elected for "
            f"it: {problem or 'no leader was seen'}"
        )
    complete = best.broker_id in {*state.isr, *(state.elr or ())}
    doubt = "" if complete else "; it was not in sync, so the last changes of that run may be missing in it"
    return (
        f"the journal of an earlier run, topic {state.topic}, had no leader: broker {best.broker_id} was elected{doubt}"
    )


def _best(kafka: Kafka, state: PartitionState, brokers: Collection[Broker]) -> ReplicaLog | None:
    deadline = time.monotonic() + _PROBE_S
    logs = [
        log
        for broker in brokers
        if broker.broker_id in state.replicas and broker.state is BrokerState.ONLINE
        for log in kafka.probe_replicas(broker, [state.topic_partition], deadline)
        if log.cause is None
    ]
    return max(logs, key=lambda log: (log.last_written_epoch or -1, log.log_end_offset or 0), default=None)
