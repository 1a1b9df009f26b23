# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan repairs: which replicas may be re-created, from which copy, and why others may not. Writes nothing."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .._changes.record import ReplicaChange
from .._kafka.copy_reading import CopyCheck
from .._kafka.errors import BrokerCallError
from .._kafka.partitions import PartitionStates
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import PartitionState, TopicPartition
from .._model.run import Progress
from .._model.setting import RepairStatus
from .facts import CleanerMetrics
from .inspection import Cleaner
from .marks import MarkedReplica
from .safety import Overrides, Surroundings, refusals

_ASKED_TO_STOP = "the run was asked to stop"
_FORCE = "set force of the module log_cleaner_repair"
"""The role has no such variable, and the readers of its output look for one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairTerms:
    """The operator's terms for repairs."""

    overrides: Overrides
    force: bool
    max_read_bytes: int
    """The bytes of a copy to read in search of damage."""
    proven: frozenset[MarkedReplica] = frozenset()
    """Replicas that are known to need the repair, so their copies are not read again."""


@dataclass(frozen=True, slots=True)
class RepairOutcome:
    """The result for one replica. Sizes are bytes on disk."""

    topic: str
    partition: int
    broker_id: int
    status: RepairStatus
    reason: str
    source: int | None = None
    """The broker whose copy it is made from."""
    replicas: tuple[int, ...] = ()
    """The replica order, which stays the same."""
    size_before: int | None = None
    size_after: int | None = None
    verified_by: str = ""


@dataclass(frozen=True, slots=True)
class PlannedRepair:
    """A planned repair, and why the copy of its source counts as healthy."""

    change: ReplicaChange
    reason: str

    def outcome(self, status: RepairStatus, reason: str) -> RepairOutcome:
        """Return the outcome of this repair."""
        change = self.change
        return RepairOutcome(
            change.topic, change.partition, change.broker_id, status, reason, change.source, change.original
        )


@dataclass(frozen=True, slots=True)
class RepairPlanner:
    """Judge replicas of one cluster."""

    kafka: Kafka
    living: Mapping[int, Address]
    cleaners: Mapping[int, Cleaner]
    terms: RepairTerms
    progress: Progress
    stop: threading.Event

    def plan(self, targets: Sequence[MarkedReplica]) -> tuple[list[PlannedRepair], list[RepairOutcome]]:
        """Return the possible repairs, and outcomes with all reasons for the others. Setting ``stop`` ends it.

        Raises NoBrokerAnswersError, BrokerCallError or RequestRefusedError.
        """
        metadata = self.kafka.read_partition_states([each.topic_partition for each in targets])
        running = self.kafka.running_reassignments(metadata.states)
        min_isrs = self.kafka.read_min_isrs({each.topic for each in targets}, self.living)
        repairs: list[PlannedRepair] = []
        outcomes = []
        planned: set[TopicPartition] = set()
        for target in targets:
            state = metadata.states.get(target.topic_partition)
            # A broker that just died must hold up only the partitions that have a replica on it.
            around = Surroundings(
                min_insync_replicas=min_isrs.on_brokers(target.topic, state.replicas if state is not None else ()),
                is_reassigning=target.topic_partition in running,
                living=self.living.keys(),
            )
            found = self._plan_one(target, metadata, around)
            if isinstance(found, RepairOutcome):
                outcomes.append(found)
            elif target.topic_partition in planned:
                why = "this run already repairs another replica of the partition: run again"
                outcomes.append(_not_repaired(target, RepairStatus.REFUSED, why))
            else:
                planned.add(target.topic_partition)
                repairs.append(found)
        return repairs, outcomes

    def _plan_one(
        self, target: MarkedReplica, metadata: PartitionStates, around: Surroundings
    ) -> PlannedRepair | RepairOutcome:
        if self.stop.is_set():
            return _not_repaired(target, RepairStatus.STOPPED, _ASKED_TO_STOP)
        state = metadata.states.get(target.topic_partition)
        if state is None:
            why = metadata.why_hidden(target.topic) or "the partition does not exist"
            return _not_repaired(target, RepairStatus.REFUSED, why)
        found = self._judge(target, state, around)
        # After a stop, a copy was not read completely.
        return _not_repaired(target, RepairStatus.STOPPED, _ASKED_TO_STOP, state) if self.stop.is_set() else found

    def _judge(
        self, target: MarkedReplica, state: PartitionState, around: Surroundings
    ) -> PlannedRepair | RepairOutcome:
        reasons = [*refusals(state, target.broker_id, around, self.terms.overrides)]
        cleaner = self.cleaners.get(target.broker_id)
        metrics = cleaner.facts.metrics if cleaner is not None else None
        if metrics is not None and metrics.dead_threads:
            reasons.append(
                f"{metrics.dead_threads} cleaner threads of broker {target.broker_id} are dead, and no pass would "
                "clear the mark: restart them first (playbook kafkaops.recovery.recover_log_cleaners)"
            )
        if metrics is not None and metrics.dead_threads is None and not self.terms.force:
            reasons.append(
                f"whether cleaner threads of broker {target.broker_id} are dead is unknown, because the metrics source "
                "does not have DeadThreadCount. Dead threads would not clear the mark: export the metric, set "
                f"metrics_names, or {_FORCE}"
            )
        if reasons:
            return _not_repaired(target, RepairStatus.REFUSED, "; ".join(reasons), state)
        if not self.terms.force and target not in self.terms.proven:
            not_needed = self._check_need(target, state, metrics)
            if not_needed is not None:
                return not_needed
        source, reason = self._find_healthy_source(target, state)
        if source is None:
            return _not_repaired(target, RepairStatus.REFUSED, reason, state)
        change = ReplicaChange(
            target.topic,
            target.partition,
            state.topic_id,
            target.broker_id,
            state.replicas,
            source,
            state.leader_id,
        )
        return PlannedRepair(change, reason)

    def _check_need(
        self, target: MarkedReplica, state: PartitionState, metrics: CleanerMetrics | None
    ) -> RepairOutcome | None:
        """Return why the repair is not needed or not known to be needed; None if it is needed."""
        if metrics is not None and metrics.log_dirs:
            return self._check_mark(target, state, metrics)
        self.progress.step(f"{target.topic_partition}: reading the copy on broker {target.broker_id}")
        check = self._check_copy(target.broker_id, target.topic_partition)
        if check.damage:
            return None
        if check.is_complete:
            return _not_repaired(
                target,
                RepairStatus.NOT_NEEDED,
                f"the copy on broker {target.broker_id} was read completely and is not damaged, and without metrics no "
                "mark is known: name a metrics source, or set force",
                state,
            )
        return _not_repaired(
            target,
            RepairStatus.REFUSED,
            f"the copy on broker {target.broker_id} is not damaged as far as it was read ({check.note}), and without "
            "metrics no mark is known: name a metrics source, raise max_read_bytes, or set force",
            state,
        )

    def _check_mark(
        self, target: MarkedReplica, state: PartitionState, metrics: CleanerMetrics
    ) -> RepairOutcome | None:
        """Return why no mark is known in the replica's log directory; None if the directory has one."""
        marks = {each.log_dir: each.uncleanable_partitions for each in metrics.log_dirs}
        log_dir, why = self._find_log_dir(target)
        if log_dir is None or log_dir not in marks or marks[log_dir] is None:
            unknown = why or f"the metrics source does not say how many partitions are marked in {log_dir}"
            return _not_repaired(
                target,
                RepairStatus.REFUSED,
                f"whether the log directory of broker {target.broker_id}'s copy has a mark is unknown: {unknown}; "
                "set force to repair it anyway",
                state,
            )
        if marks[log_dir]:
            return None
        others = ", ".join(sorted(each for each, count in marks.items() if count))
        elsewhere = f", only in {others}" if others else ""
        unneeded = (
            f"broker {target.broker_id} marks no partition as uncleanable in {log_dir}, where its copy is{elsewhere}"
        )
        return _not_repaired(target, RepairStatus.NOT_NEEDED, unneeded, state)

    def _find_log_dir(self, target: MarkedReplica) -> tuple[str | None, str]:
        """Return the log directory of a copy, or why it is unknown."""
        try:
            found = self.kafka.describe_log_dirs(self.living[target.broker_id], [target.topic_partition])
        except BrokerCallError as error:
            return None, str(error)
        here = found.current_replica(target.topic_partition)
        return (here.log_dir, "") if here else (None, found.refusal or "DescribeLogDirs does not list the copy")

    def _find_healthy_source(self, target: MarkedReplica, state: PartitionState) -> tuple[int | None, str]:
        """Return an in-sync replica with a healthy copy, and what was read; or None, and why there is none."""
        others = [each for each in state.isr if each != target.broker_id and each in self.living]
        if state.leader_id in others:
            others = [state.leader_id, *(each for each in others if each != state.leader_id)]
        found = []
        for broker_id in others:
            self.progress.step(f"{target.topic_partition}: reading the copy on broker {broker_id}")
            check = self._check_copy(broker_id, target.topic_partition)
            if check.damage:
                found.append(f"broker {broker_id}'s copy is damaged: {check.damage}")
            elif check.is_complete or self.terms.force:
                note = "" if check.is_complete else f" as far as it was read ({check.note})"
                return broker_id, f"broker {broker_id}'s copy is not damaged{note} ({check.read_bytes} bytes read)"
            else:
                found.append(f"broker {broker_id}'s copy was not read completely ({check.note})")
        return None, (
            f"no other in-sync copy is known to be healthy, and a copy of a damaged one does not get in sync: "
            f"{'; '.join(found)}. If a replica that is out of sync is healthy, let it catch up. Otherwise delete the "
            "records up to the damage (DeleteRecords), or fill a new topic from the source. If a copy is only too "
            f"large to read, raise max_read_bytes, or {_FORCE}"
        )

    def _check_copy(self, broker_id: int, partition: TopicPartition) -> CopyCheck:
        try:
            return self.kafka.check_copy(self.living[broker_id], partition, self.terms.max_read_bytes, self.stop)
        except BrokerCallError as error:
            return CopyCheck("", 0, is_complete=False, note=str(error))


def _not_repaired(
    target: MarkedReplica, status: RepairStatus, reason: str, state: PartitionState | None = None
) -> RepairOutcome:
    return RepairOutcome(
        target.topic,
        target.partition,
        target.broker_id,
        status,
        reason,
        replicas=state.replicas if state is not None else (),
    )
