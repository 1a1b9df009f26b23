# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which replicas may be re-created, from whose copy, and every reason for each that may not. Only reads."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .._changes.record import ReplicaChange
from .._kafka.copy_reading import CopyCheck
from .._kafka.errors import BrokerCallError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import PartitionState, TopicPartition
from .._model.run import Progress
from .._model.setting import RepairStatus
from .facts import CleanerMetrics
from .inspection import Cleaner
from .marks import Target
from .replica import read_min_isrs
from .safety import Overrides, Surroundings, refusals

_ASKED_TO_STOP = "the run was asked to stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairTerms:
    """Under which terms a replica may be re-created."""

    overrides: Overrides
    force: bool
    max_read_bytes: int
    """How much of a copy is read to find damage in it."""
    proven: frozenset[Target] = frozenset()
    """Replicas that were found to need the repair before, so that they are not read again."""


@dataclass(frozen=True, slots=True)
class RepairOutcome:
    """What became of one replica, and why. Sizes are bytes on disk."""

    topic: str
    partition: int
    broker_id: int
    status: RepairStatus
    reason: str
    source: int | None = None
    """Whose copy it is made from."""
    replicas: tuple[int, ...] = ()
    """The order, which is the same afterwards."""
    size_before: int | None = None
    size_after: int | None = None
    verified_by: str = ""


@dataclass(frozen=True, slots=True)
class Repair:
    """A repair that is planned, and why the copy that it is made from counts as whole."""

    change: ReplicaChange
    reason: str

    def outcome(self, status: RepairStatus, reason: str) -> RepairOutcome:
        """Return how it ended."""
        change = self.change
        return RepairOutcome(
            change.topic, change.partition, change.broker_id, status, reason, change.source, change.original
        )


@dataclass(frozen=True, slots=True)
class RepairPlanner:
    """Judges replicas of one cluster."""

    kafka: Kafka
    living: Mapping[int, Address]
    cleaners: Mapping[int, Cleaner]
    terms: RepairTerms
    progress: Progress
    stop: threading.Event

    def plan(self, targets: Sequence[Target]) -> tuple[list[Repair], list[RepairOutcome]]:
        """Return what can be repaired, and every reason for each that cannot. Setting ``stop`` ends it. Only reads.

        Raises NoBrokerAnswersError, BrokerCallError or RequestRefusedError.
        """
        sight = self.kafka.see([each.topic_partition for each in targets])
        running = self.kafka.running_reassignments(sight.states)
        min_isrs = read_min_isrs(self.kafka, {each.topic for each in targets})
        repairs: list[Repair] = []
        outcomes = []
        planned: set[TopicPartition] = set()
        for target in targets:
            if self.stop.is_set():
                outcomes.append(_not_repaired(target, RepairStatus.STOPPED, _ASKED_TO_STOP))
                continue
            state = sight.states.get(target.topic_partition)
            if state is None:
                why = sight.why_hidden(target.topic) or "the partition does not exist"
                outcomes.append(_not_repaired(target, RepairStatus.REFUSED, why))
                continue
            around = Surroundings(
                min_insync_replicas=min_isrs.get(target.topic),
                is_reassigning=target.topic_partition in running,
                living=self.living.keys(),
            )
            found = self._judged(target, state, around)
            if self.stop.is_set():
                # What it was judged by was not read to its end.
                outcomes.append(_not_repaired(target, RepairStatus.STOPPED, _ASKED_TO_STOP, state))
                continue
            if isinstance(found, Repair) and target.topic_partition in planned:
                found = _not_repaired(
                    target,
                    RepairStatus.REFUSED,
                    "another replica of it is repaired in this run, and a copy may only be made of one that is left: "
                    "run again",
                )
            if isinstance(found, Repair):
                planned.add(target.topic_partition)
                repairs.append(found)
            else:
                outcomes.append(found)
        return repairs, outcomes

    def _judged(self, target: Target, state: PartitionState, around: Surroundings) -> Repair | RepairOutcome:
        reasons = [*refusals(state, target.broker_id, around, self.terms.overrides)]
        cleaner = self.cleaners.get(target.broker_id)
        metrics = cleaner.facts.metrics if cleaner is not None else None
        if metrics is not None and metrics.dead_threads:
            reasons.append(
                f"{metrics.dead_threads} cleaner threads of broker {target.broker_id} are dead, and no pass would drop "
                "the mark: restart them first (module kafkaops.recovery.log_cleaner)"
            )
        if metrics is not None and metrics.dead_threads is None and not self.terms.force:
            reasons.append(
                f"whether cleaner threads of broker {target.broker_id} are dead is unknown, since the metrics source "
                "does not have DeadThreadCount, and without them no pass would drop the mark: export it, set "
                "metrics_names, or set force"
            )
        if reasons:
            return _not_repaired(target, RepairStatus.REFUSED, "; ".join(reasons), state)
        if not self.terms.force and target not in self.terms.proven:
            unproven = self._unproven(target, state, metrics)
            if unproven is not None:
                return unproven
        source, reason = self._healthy_source(target, state)
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
        return Repair(change, reason)

    def _unproven(self, target: Target, state: PartitionState, metrics: CleanerMetrics | None) -> RepairOutcome | None:
        """Why it is unknown whether it needs the repair; None when something does."""
        if metrics is not None and metrics.log_dirs:
            return self._unmarked(target, state, metrics)
        self.progress.step(f"{target.topic_partition}: reading the copy on broker {target.broker_id}")
        check = self._check(target.broker_id, target.topic_partition)
        if check.damage:
            return None
        if check.is_complete:
            return _not_repaired(
                target,
                RepairStatus.NOT_NEEDED,
                f"the copy on broker {target.broker_id} was read to its end and is not damaged, and without metrics "
                "no mark is known: name a metrics source, or set force",
                state,
            )
        return _not_repaired(
            target,
            RepairStatus.REFUSED,
            f"the copy on broker {target.broker_id} is not damaged as far as it was read ({check.note}), and without "
            "metrics no mark is known: name a metrics source, raise max_read_bytes, or set force",
            state,
        )

    def _unmarked(self, target: Target, state: PartitionState, metrics: CleanerMetrics) -> RepairOutcome | None:
        """Why the replica's own log directory has no mark that is known; None when it has one."""
        marks = {each.log_dir: each.uncleanable_partitions for each in metrics.log_dirs}
        log_dir, why = self._log_dir(target)
        if log_dir is None or log_dir not in marks or marks[log_dir] is None:
            unknown = why or f"the metrics source does not say how many partitions are marked in {log_dir}"
            return _not_repaired(
                target,
                RepairStatus.REFUSED,
                f"whether the log directory of broker {target.broker_id}'s copy has a mark is unknown: {unknown}; "
                "set force to repair it all the same",
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

    def _log_dir(self, target: Target) -> tuple[str | None, str]:
        """Return the log directory of a copy, or why it is unknown."""
        try:
            found = self.kafka.describe_log_dirs(self.living[target.broker_id], [target.topic_partition])
        except BrokerCallError as error:
            return None, str(error)
        here = [each for each in found.replicas.get(target.topic_partition, ()) if not each.is_future]
        return (here[0].log_dir, "") if here else (None, found.refusal or "DescribeLogDirs does not list the copy")

    def _healthy_source(self, target: Target, state: PartitionState) -> tuple[int | None, str]:
        """Return an in-sync replica to lead meanwhile, whose copy was read, and why; or None, and why none."""
        others = [each for each in state.isr if each != target.broker_id and each in self.living]
        if state.leader_id in others:
            others = [state.leader_id, *(each for each in others if each != state.leader_id)]
        found = []
        for broker_id in others:
            self.progress.step(f"{target.topic_partition}: reading the copy on broker {broker_id}")
            check = self._check(broker_id, target.topic_partition)
            if check.damage:
                found.append(f"broker {broker_id}'s copy is damaged: {check.damage}")
            elif check.is_complete or self.terms.force:
                note = "" if check.is_complete else f", as far as it was read ({check.note})"
                return broker_id, f"broker {broker_id}'s copy is whole{note}, by {check.read_bytes} bytes read"
            else:
                found.append(f"broker {broker_id}'s copy was not read to its end ({check.note})")
        return None, (
            f"no other in-sync copy is known to be whole, and a copy of a damaged one does not come in sync: "
            f"{'; '.join(found)}. What helps: if a replica that is out of sync is whole, let it catch up; otherwise "
            "delete the records up to the damage (DeleteRecords), or fill a new topic from the source; for a copy that "
            "is only too large to read, raise max_read_bytes, or set force"
        )

    def _check(self, broker_id: int, partition: TopicPartition) -> CopyCheck:
        try:
            return self.kafka.check_copy(self.living[broker_id], partition, self.terms.max_read_bytes, self.stop)
        except BrokerCallError as error:
            return CopyCheck("", 0, is_complete=False, note=str(error))


def _not_repaired(
    target: Target, status: RepairStatus, reason: str, state: PartitionState | None = None
) -> RepairOutcome:
    return RepairOutcome(
        target.topic,
        target.partition,
        target.broker_id,
        status,
        reason,
        replicas=state.replicas if state is not None else (),
    )
