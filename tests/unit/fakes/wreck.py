# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster after an outage: every partition has lost broker 1, and broker 3, the last in order, holds the most."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import OrderChange
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.sender import Writer
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import SaveTails
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    NO_LEADER,
    PARTITIONS_PER_REQUEST,
    PartitionState,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import Candidate, SilentReplica
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.election_run import (
    ElectionOptions,
    ElectionReport,
    run_elections,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import (
    Plan,
    PlannedElection,
    Status,
)
from unit.fakes.cluster import FakeCluster, a_log
from unit.fakes.journals import CLUSTER_ID, open_journal, read_pending

TOPIC_ID = "EjRWeJq83vASNFZ4mrze8A"
ORIGINAL, CHANGED = (1, 2, 3), (3, 2, 1)
DEAD, BEHIND, BEST = ORIGINAL


def partitions(count: int) -> list[TopicPartition]:
    return [TopicPartition("orders", number) for number in range(count)]


def wrecked(count: int) -> FakeCluster:
    states, logs = {}, {}
    for each in partitions(count):
        states[each] = PartitionState(
            each.topic, each.partition, TOPIC_ID, NO_LEADER, 7, ORIGINAL, (DEAD,), (), (), (DEAD,)
        )
        logs[BEHIND, each] = a_log(BEHIND, each, 5, 200)
        logs[BEST, each] = a_log(BEST, each, 6, 100)
    return FakeCluster(states, {BEHIND, BEST}, {DEAD, BEHIND, BEST}, logs)


def an_order_change(partition: TopicPartition) -> OrderChange:
    return OrderChange(partition.topic, partition.partition, TOPIC_ID, ORIGINAL, CHANGED)


@dataclass
class Wreck:
    """The cluster, and operations to run elections on it."""

    cluster: FakeCluster
    progress: Any = field(default_factory=NullProgress)
    stop: threading.Event = field(default_factory=threading.Event)
    batch_size: int = PARTITIONS_PER_REQUEST

    def writer(self, *, attempts: int = 3, verify_timeout_s: float = 1.0) -> Writer:
        addresses = [each.address for each in self.cluster.describe_cluster().registrations]
        return Writer(self.cluster, addresses, attempts, verify_timeout_s)

    def plan(self, designated: int = BEST) -> Plan:
        """Return a plan for the present state of the cluster."""
        return Plan(
            CLUSTER_ID,
            "2026-01-31T23:59:59Z",
            tuple(self._election(each, designated) for each in sorted(self.cluster.states)),
            (),
        )

    def run(
        self,
        plan: Plan | None = None,
        *,
        attempts: int = 3,
        check_mode: bool = False,
        timeout_ms: int = 600_000,
        save_tails: SaveTails | None = None,
    ) -> ElectionReport:
        options = ElectionOptions(
            journal=JournalOptions(),
            attempts=attempts,
            verify_timeout_ms=1000,
            check_mode=check_mode,
            timeout_ms=timeout_ms,
            save_tails=save_tails,
            batch_size=self.batch_size,
        )
        return run_elections(self.cluster, plan or self.plan(), options, self.progress, self.stop)

    def unfinished(self) -> tuple[OrderChange, ...]:
        pending = read_pending(self.cluster.run_topic)
        return tuple(each for each in pending if isinstance(each, OrderChange))

    def leave_changed_orders(self) -> None:
        """Record and change every partition's order, as a run that is then killed."""
        self.leave_recorded_orders()
        for each in self.cluster.states:
            self.cluster.change(each, replicas=CHANGED)

    def leave_recorded_orders(self) -> None:
        """Record every partition's order without a change, as a run that is then killed."""
        with open_journal(self.cluster) as journal:
            journal.begin([an_order_change(each) for each in self.cluster.states])

    def journal(self, partition: str, *, topic_id: str, original: Sequence[int], changed: Sequence[int]) -> None:
        """Leave this change in the journal, as a killed run does."""
        topic, _dash, number = partition.rpartition("-")
        with open_journal(self.cluster) as journal:
            journal.begin([OrderChange(topic, int(number), topic_id, tuple(original), tuple(changed))])

    def assert_orders_are_restored(self) -> None:
        assert {each.replicas for each in self.cluster.states.values()} == {ORIGINAL}
        assert self.unfinished() == ()

    def _election(self, partition: TopicPartition, designated: int) -> PlannedElection:
        state = self.cluster.states[partition]
        logs = [self.cluster.logs[broker_id, partition] for broker_id in (BEST, BEHIND)]
        return PlannedElection(
            topic=partition.topic,
            partition=partition.partition,
            topic_id=state.topic_id,
            leader_epoch=state.leader_epoch,
            designated_leader=designated,
            reason="the newest epoch",
            replicas=state.replicas,
            isr=state.isr,
            elr=state.elr,
            last_known_elr=state.last_known_elr,
            offline_replicas=self.cluster._as_described(state).offline_replicas,
            candidates=tuple(
                Candidate(
                    log.broker_id, rank, log.last_written_epoch, 0, log.log_end_offset or 0, log.lineage, None, (), ""
                )
                for rank, log in enumerate(logs, start=1)
            ),
            silent=tuple(
                SilentReplica(each.broker_id, each.cause, each.error)
                for each in [self.cluster._log(DEAD, partition)]
                if each.cause is not None
            ),
        )


MakeWreck = Callable[..., Wreck]


def statuses(report: ElectionReport) -> list[Status]:
    return [each.status for each in report.outcomes]


def reasons(report: ElectionReport) -> set[str]:
    return {each.reason for each in report.outcomes}


def revive_as_last_known_leader(wreck: Wreck, partition: TopicPartition) -> Callable[[], None]:
    """Let broker 1 return while the partition's ISR is empty and broker 1 is the last known leader (KIP-966)."""

    def revive() -> None:
        wreck.cluster.change(partition, isr=(), last_known_elr=(1,))
        wreck.cluster.unfenced.add(1)

    return revive
