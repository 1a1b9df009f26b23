# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clears the uncleanable marks of replicas without a restart of the broker: each is dropped and made anew."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from ansible_collections.kafkaops.recovery.plugins.module_utils.cleaner.facts import CleanerMetrics, LogDirMetrics
from ansible_collections.kafkaops.recovery.plugins.module_utils.cleaner.safety import (
    Overrides,
    Surroundings,
    refusals,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.cleaner.settings import BACKOFF_MS
from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.cleaner_journal import (
    CleanerJournal,
    ReplicaChange,
    SettingChange,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.cluster import Cluster
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.configs import topic_configs
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.copy_reading import CopyCheck, check_copy
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.reassignments import running_reassignments
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.metrics.errors import MetricsError
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.cleaner_status import RepairStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import PartitionState, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.progress import Progress
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.log_cleaner import Cleaner, ReadMetrics
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.log_cleaner_replica import (
    ReplicaMaker,
    StepError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.log_cleaner_settings import (
    SettingError,
    SettingWriter,
    changed_for_a_while,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.log_cleaner_sizes import (
    CopySize,
    copies_in,
    one_look,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.replica_orders import read_states

_OFFSETS = "__consumer_offsets"
_MIN_ISR = "min.insync.replicas"
_RATE = "follower.replication.throttled.rate"
_THROTTLED = "follower.replication.throttled.replicas"
_DEFAULT_BACKOFF_MS = 15_000
_PASS_MARGIN_S = 2.0


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """A replica that is marked, or that somebody has named."""

    topic: str
    partition: int
    broker_id: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairOptions:
    """How to repair."""

    overrides: Overrides
    force: bool
    check_mode: bool
    max_concurrent: int
    throttle_bytes_per_second: int | None
    max_read_bytes: int
    verify_timeout_s: float


@dataclass(frozen=True, slots=True)
class Repair:
    """A repair that is planned, and why the copy that it is made from counts as whole."""

    change: ReplicaChange
    reason: str


def marked_replicas(
    wire: Wire, cluster: Cluster, cleaners: Sequence[Cleaner], max_read_bytes: int, progress: Progress
) -> tuple[tuple[Target, ...], tuple[str, ...]]:
    """The replicas behind the marks, and in words what could not be found.

    Metrics tell how many there are in a directory, and not which. So the copies there are read, ``__consumer_offsets``
    first and then by how much they exceed other copies, until as many are damaged as there are marks.
    """
    copies = one_look(wire, cluster)
    addresses = {each.broker_id: each.address for each in cluster.registrations}
    targets: list[Target] = []
    untold = []
    for cleaner in cleaners:
        for log_dir in cleaner.facts.metrics.log_dirs if cleaner.facts.metrics is not None else ():
            if not log_dir.uncleanable_partitions:
                continue
            here = _most_suspicious_first(copies_in(copies, cleaner.broker_id, {log_dir.log_dir}), copies)
            found = 0
            for copy in here:
                if found == log_dir.uncleanable_partitions:
                    break
                partition = TopicPartition(copy.topic, copy.partition)
                progress.step(f"reading the copy of {partition} on broker {cleaner.broker_id}")
                check = check_copy(wire.connection(addresses[cleaner.broker_id]), partition, max_read_bytes)
                if check.damage:
                    targets.append(Target(copy.topic, copy.partition, cleaner.broker_id))
                    found += 1
            if found < log_dir.uncleanable_partitions:
                untold.append(_untold(cleaner.broker_id, log_dir, found))
    return tuple(targets), tuple(untold)


def _untold(broker_id: int, log_dir: LogDirMetrics, found: int) -> str:
    return (
        f"broker {broker_id} marks {log_dir.uncleanable_partitions} partitions in {log_dir.log_dir}, and {found} of "
        "its copies are damaged as far as they were read: the broker's log names the others ('Marking its partition'); "
        "name them in partitions"
    )


def _most_suspicious_first(here: Sequence[CopySize], copies: Collection[CopySize]) -> list[CopySize]:
    smallest: dict[tuple[str, int], int] = {}
    for each in copies:
        key = (each.topic, each.partition)
        smallest[key] = min(each.size_bytes, smallest.get(key, each.size_bytes))
    return sorted(
        here,
        key=lambda each: (each.topic != _OFFSETS, smallest[each.topic, each.partition] - each.size_bytes, each.topic),
    )


class Repairer:
    """Judges and repairs replicas of one cluster."""

    def __init__(  # noqa: PLR0917
        self,
        wire: Wire,
        living: Mapping[int, Address],
        cleaners: Mapping[int, Cleaner],
        read_metrics: ReadMetrics | None,
        options: RepairOptions,
        progress: Progress,
    ) -> None:
        self._wire = wire
        self._living = living
        self._cleaners = cleaners
        self._read_metrics = read_metrics
        self._options = options
        self._progress = progress

    def plan(self, targets: Sequence[Target]) -> tuple[list[Repair], list[RepairOutcome]]:
        """What can be repaired, and every reason for each that cannot. Only reads.

        Raises NoBrokerAnswersError, BrokerCallError or RequestRefusedError.
        """
        states = read_states(self._wire, [each.topic_partition for each in targets])
        running = running_reassignments(self._wire, states)
        min_isrs = topic_configs(self._wire, sorted({each.topic for each in targets}), _MIN_ISR)
        repairs: list[Repair] = []
        outcomes = []
        planned: set[TopicPartition] = set()
        for target in targets:
            state = states.get(target.topic_partition)
            if state is None:
                outcomes.append(_outcome(target, RepairStatus.REFUSED, "the partition does not exist"))
                continue
            min_isr = min_isrs.get(target.topic)
            around = Surroundings(
                min_insync_replicas=int(min_isr.value) if min_isr is not None and min_isr.value else None,
                is_reassigning=target.topic_partition in running,
                living=self._living.keys(),
            )
            found = self._judged(target, state, around)
            if isinstance(found, Repair) and target.topic_partition in planned:
                found = _outcome(
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
        reasons = [*refusals(state, target.broker_id, around, self._options.overrides)]
        cleaner = self._cleaners.get(target.broker_id)
        metrics = cleaner.facts.metrics if cleaner is not None else None
        if metrics is not None and metrics.dead_threads:
            reasons.append(
                f"{metrics.dead_threads} cleaner threads of broker {target.broker_id} are dead, and no pass would drop "
                "the mark: restart them first (module kafkaops.recovery.log_cleaner)"
            )
        if not reasons and not self._options.force:
            unneeded = self._not_needed(target, metrics)
            if unneeded:
                return _outcome(target, RepairStatus.NOT_NEEDED, unneeded, state)
        if reasons:
            return _outcome(target, RepairStatus.REFUSED, "; ".join(reasons), state)
        source, told = self._healthy_source(target, state)
        if source is None:
            return _outcome(target, RepairStatus.REFUSED, told, state)
        change = ReplicaChange(
            target.topic,
            target.partition,
            state.topic_id,
            target.broker_id,
            state.replicas,
            source,
            state.leader_id,
        )
        return Repair(change, told)

    def _not_needed(self, target: Target, metrics: CleanerMetrics | None) -> str:
        if metrics is not None:
            if metrics.uncleanable_partitions == 0:
                return f"broker {target.broker_id} marks no partition as uncleanable"
            return ""
        check = self._check(target.broker_id, target.topic_partition)
        if check.damage or not check.is_complete:
            return ""
        return (
            f"the copy on broker {target.broker_id} was read to its end and is not damaged, and without metrics "
            "nothing tells a mark: name a metrics source, or set force"
        )

    def _healthy_source(self, target: Target, state: PartitionState) -> tuple[int | None, str]:
        """Who is to lead while the replica is made anew: an in-sync one whose copy was read. And why, or why nobody."""
        others = [each for each in state.isr if each != target.broker_id and each in self._living]
        if state.leader_id in others:
            others = [state.leader_id, *(each for each in others if each != state.leader_id)]
        found = []
        for broker_id in others:
            self._progress.step(f"{target.topic_partition}: reading the copy on broker {broker_id}")
            check = self._check(broker_id, target.topic_partition)
            if check.damage:
                found.append(f"broker {broker_id}'s copy is damaged: {check.damage}")
            elif check.is_complete or self._options.force:
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
        connection = self._wire.fresh_connection(self._living[broker_id])
        try:
            return check_copy(connection, partition, self._options.max_read_bytes)
        except BrokerCallError as fault:
            return CopyCheck("", 0, is_complete=False, note=str(fault))
        finally:
            connection.close()

    def would_repair(self, repair: Repair) -> RepairOutcome:
        """What a check mode run tells."""
        return self._told(repair, RepairStatus.WOULD_REPAIR, repair.reason)

    def carry_out(
        self, repairs: Sequence[Repair], maker: ReplicaMaker, settings: SettingWriter, journal: CleanerJournal
    ) -> list[RepairOutcome]:
        """Repairs, some at a time, under one throttle that is taken off at the end.

        Raises JournalError before anything was changed.
        """
        outcomes: list[RepairOutcome] = []

        def work() -> None:
            with ThreadPoolExecutor(max_workers=self._options.max_concurrent) as pool:
                outcomes.extend(pool.map(partial(self._carry_out, maker), repairs))

        if not repairs:
            return []
        try:
            stuck = changed_for_a_while(settings, journal, self._throttles(repairs, settings), work)
        except SettingError as fault:
            return [self._told(each, RepairStatus.FAILED, f"it was not begun: {fault}") for each in repairs]
        if stuck:
            left = f"; the throttle is still on: {'; '.join(stuck)}"
            return [replace(each, status=RepairStatus.FAILED, reason=each.reason + left) for each in outcomes]
        return outcomes

    def _throttles(self, repairs: Sequence[Repair], settings: SettingWriter) -> list[SettingChange]:
        """On the fetching side alone, and for these replicas alone: other replication is as fast as before."""
        rate = self._options.throttle_bytes_per_second
        if rate is None:
            return []
        wanted: dict[tuple[str, str, str], str] = {}
        for broker_id in sorted({each.change.broker_id for each in repairs}):
            wanted["broker", str(broker_id), _RATE] = str(rate)
        for topic in sorted({each.change.topic for each in repairs}):
            replicas = [
                f"{each.change.partition}:{each.change.broker_id}" for each in repairs if each.change.topic == topic
            ]
            wanted["topic", topic, _THROTTLED] = ",".join(replicas)
        changes = []
        for (kind, resource, name), value in wanted.items():
            original = settings.current(SettingChange(kind, resource, name, None, value))
            if original != value:
                changes.append(SettingChange(kind, resource, name, original, value))
        return changes

    def _carry_out(self, maker: ReplicaMaker, repair: Repair) -> RepairOutcome:
        change = repair.change
        if maker.stop.is_set():
            return self._told(repair, RepairStatus.STOPPED, "the run was asked to stop")
        before = maker.size(change, change.broker_id)
        marked = self._marked(change.broker_id)
        try:
            maker.make_anew(change, self._forgetting(change.broker_id, marked))
        except StepError as fault:
            return replace(self._told(repair, RepairStatus.FAILED, str(fault)), size_before=before)
        after = maker.size(change, change.broker_id)
        told = replace(self._told(repair, RepairStatus.REPAIRED, repair.reason), size_before=before, size_after=after)
        return self._verified(told, marked)

    def _forgetting(self, broker_id: int, marked: int | None) -> Callable[[float], bool]:
        """By metrics: the broker has fewer marks. Without: more than a pass of its cleaner has gone by."""
        cleaner = self._cleaners.get(broker_id)
        backoff = cleaner.facts.settings.get(BACKOFF_MS) if cleaner is not None else None
        text = backoff.value if backoff is not None else None
        a_pass_s = (int(text) if text is not None and text.isdecimal() else _DEFAULT_BACKOFF_MS) / 1000

        def is_forgotten(seconds: float) -> bool:
            if marked:
                found = self._marked(broker_id)
                return found is not None and found < marked
            return seconds > 2 * a_pass_s + _PASS_MARGIN_S

        return is_forgotten

    def _verified(self, outcome: RepairOutcome, marked: int | None) -> RepairOutcome:
        """A mark that comes back does so within a pass or two."""
        if not marked:
            return replace(outcome, verified_by="replicas")
        deadline = time.monotonic() + self._options.verify_timeout_s
        found = self._marked(outcome.broker_id)
        while found is None and time.monotonic() < deadline:
            time.sleep(0.3)
            found = self._marked(outcome.broker_id)
        if found is None or found >= marked:
            return replace(
                outcome,
                status=RepairStatus.FAILED,
                reason=f"it was made anew, and broker {outcome.broker_id} still marks as many partitions ({found})",
                verified_by="metrics",
            )
        return replace(
            outcome, reason=f"{outcome.reason}; marks on the broker: {marked} → {found}", verified_by="metrics"
        )

    def _marked(self, broker_id: int) -> int | None:
        cleaner = self._cleaners.get(broker_id)
        if self._read_metrics is None or cleaner is None or cleaner.facts.host is None:
            return None
        try:
            return self._read_metrics(broker_id, cleaner.facts.host).uncleanable_partitions
        except MetricsError:
            return None

    def _told(self, repair: Repair, status: RepairStatus, reason: str) -> RepairOutcome:
        change = repair.change
        return RepairOutcome(
            change.topic, change.partition, change.broker_id, status, reason, change.source, change.original
        )


def _outcome(target: Target, status: RepairStatus, reason: str, state: PartitionState | None = None) -> RepairOutcome:
    return RepairOutcome(
        target.topic,
        target.partition,
        target.broker_id,
        status,
        reason,
        replicas=state.replicas if state is not None else (),
    )
