# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clear the uncleanable marks of replicas without a restart of the broker: drop and re-create each replica.

A throttle limits how fast their brokers fetch these replicas, and no other replication. It keeps the throttles of other
parties, and is removed when all replicas are in sync.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from .._changes.record import Leftover, SettingChange
from .._changes.replica_sets import StepError
from .._changes.rollback import Rollback
from .._changes.setting_writer import SettingWriter, throttled_places
from .._changes.throttle import Throttle
from .._model.partition import grouped
from .._model.reasons import plural
from .._model.run import KafkaOpsError
from .._model.setting import RepairStatus, number_of
from .facts import BACKOFF_MS, CleanerMetrics
from .inspection import Cleaner, ReadMetrics
from .metrics import MetricsError
from .repair_plan import PlannedRepair, RepairOutcome
from .replica import ReplicaMaker, Safeguard, UnsafeError

_DEFAULT_BACKOFF_MS = 15_000
_PASS_MARGIN_S = 2.0
_LOOK_EVERY_S = 0.3
_PASSES = 3
"""One pass is enough, but a pass may have begun before the drop was seen."""
_SAME_RUN_S = 0.5
"""The computed start of one run varies, because metrics are read some time after their creation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairPace:
    """How fast to repair, and how long to wait for the metrics to show the result."""

    max_concurrent: int
    """The number of brokers that repair one replica each at the same time."""
    throttle_bytes_per_second: int | None
    """The throttle of each broker that fetches a replica; None for no limit."""
    verify_timeout_s: float


@dataclass(frozen=True, slots=True)
class Repairer:
    """Carry out repairs on one cluster."""

    cleaners: Mapping[int, Cleaner]
    read_metrics: ReadMetrics | None
    pace: RepairPace
    safeguard: Safeguard

    def carry_out(
        self, repairs: Sequence[PlannedRepair], maker: ReplicaMaker, settings: SettingWriter, rollback: Rollback
    ) -> list[RepairOutcome]:
        """Repair replicas on several brokers at a time, under a throttle.

        A repair that cannot be throttled is not begun. Raises JournalError before anything was changed.
        """
        if maker.stop.is_set():
            return [each.outcome(RepairStatus.STOPPED, "the run was asked to stop") for each in repairs]
        outcomes: list[RepairOutcome] = []
        throttle = Throttle(settings, rollback.journal)
        try:
            rate = self.pace.throttle_bytes_per_second
            failures = throttle.apply(rate, [each.change for each in repairs]) if rate is not None else {}
            outcomes += [
                each.outcome(RepairStatus.FAILED, f"it was not begun: {failures[each.change]}")
                for each in repairs
                if each.change in failures
            ]
            outcomes += self._repair_brokers([each for each in repairs if each.change not in failures], maker)
        finally:
            # A late request may drop a replica again. Then it is copied again, which needs the throttle.
            rollback.settle_doubt()
            stuck = throttle.remove()
            rollback.settle_doubt()
        return [_with_stuck_throttle(each, stuck) for each in outcomes]

    def _repair_brokers(self, repairs: Sequence[PlannedRepair], maker: ReplicaMaker) -> list[RepairOutcome]:
        # A broker repairs one replica at a time, because its metrics only count marks and do not name the replicas.
        by_broker = grouped((each.change.broker_id, each) for each in repairs)
        with ThreadPoolExecutor(max_workers=self.pace.max_concurrent) as pool:
            done = pool.map(lambda those: [self._repair_one(maker, each) for each in those], by_broker.values())
            return [outcome for those in done for outcome in those]

    def _repair_one(self, maker: ReplicaMaker, repair: PlannedRepair) -> RepairOutcome:
        change = repair.change
        if maker.stop.is_set():
            return repair.outcome(RepairStatus.STOPPED, "the run was asked to stop")
        before = maker.read_size_or_none(change, change.broker_id)
        marked = self._count_marks(change.broker_id)
        try:
            maker.recreate(change, self.safeguard, self._mark_check(change.broker_id, marked))
        except UnsafeError as error:
            return repair.outcome(RepairStatus.REFUSED, str(error))
        except StepError as error:
            return replace(repair.outcome(RepairStatus.FAILED, str(error)), size_before=before)
        except KafkaOpsError as error:
            return repair.outcome(RepairStatus.FAILED, f"it was not begun: {error}")
        after = maker.read_size_or_none(change, change.broker_id)
        outcome = replace(repair.outcome(RepairStatus.REPAIRED, repair.reason), size_before=before, size_after=after)
        return self._verify(outcome, marked)

    def _mark_check(self, broker_id: int, marked: int | None) -> Callable[[float], bool]:
        """Return a function that tells whether the mark is cleared.

        With metrics: whether the broker has fewer marks. Without: whether its cleaner has had time for two passes.
        """
        two_passes_s = self._two_passes_s(broker_id)
        runs = _Runs()

        def is_mark_cleared(seconds: float) -> bool:
            if not marked:
                return seconds > two_passes_s
            metrics = self._metrics(broker_id)
            found = metrics.uncleanable_partitions if metrics is not None else None
            if metrics is None or found is None:
                return False
            if found >= marked and runs.since(seconds, metrics) >= _PASSES and seconds > two_passes_s:
                # The cleaner clears a mark in its first pass without the partition.
                raise StepError(
                    f"the cleaner of broker {broker_id} ran {plural(runs.count, 'time')} since the drop, "
                    f"and still has {plural(found, 'mark')}, as many as before: the mark is not this replica's"
                )
            return found < marked

        return is_mark_cleared

    def _two_passes_s(self, broker_id: int) -> float:
        cleaner = self.cleaners.get(broker_id)
        backoff_ms = number_of(cleaner.facts.settings.get(BACKOFF_MS)) if cleaner is not None else None
        return 2 * (_DEFAULT_BACKOFF_MS if backoff_ms is None else backoff_ms) / 1000 + _PASS_MARGIN_S

    def _verify(self, outcome: RepairOutcome, marked: int | None) -> RepairOutcome:
        """Fail the outcome if the mark comes back within two passes, or if the metrics cannot be read."""
        if not marked:
            return replace(outcome, verified_by="replicas")
        begun = self.safeguard.kafka.clock.monotonic()
        deadline = begun + self.pace.verify_timeout_s
        watched_until = min(begun + self._two_passes_s(outcome.broker_id), deadline)
        while True:
            found = self._count_marks(outcome.broker_id)
            now = self.safeguard.kafka.clock.monotonic()
            if (found is not None and (found >= marked or now >= watched_until)) or now >= deadline:
                break
            self.safeguard.kafka.clock.sleep(_LOOK_EVERY_S)
        if found is None or found >= marked:
            return replace(
                outcome,
                status=RepairStatus.FAILED,
                reason=f"it was re-created, and broker {outcome.broker_id} still marks as many partitions ({found})",
                verified_by="metrics",
            )
        return replace(
            outcome, reason=f"{outcome.reason}; marks on the broker: {marked} → {found}", verified_by="metrics"
        )

    def _count_marks(self, broker_id: int) -> int | None:
        metrics = self._metrics(broker_id)
        return metrics.uncleanable_partitions if metrics is not None else None

    def _metrics(self, broker_id: int) -> CleanerMetrics | None:
        cleaner = self.cleaners.get(broker_id)
        if self.read_metrics is None or cleaner is None or cleaner.facts.host is None:
            return None
        try:
            return self.read_metrics(broker_id, cleaner.facts.host)
        except MetricsError:
            return None


@dataclass
class _Runs:
    """Counts the runs of a cleaner since a replica was dropped."""

    count: int = 0
    _last_s: float = 0.0

    def since(self, seconds: float, metrics: CleanerMetrics) -> int:
        """Return the number of runs seen so far, from metrics that were read ``seconds`` after the drop."""
        if metrics.time_since_last_run_ms is not None:
            began_s = seconds - metrics.time_since_last_run_ms / 1000
            if began_s > self._last_s + _SAME_RUN_S:
                self.count, self._last_s = self.count + 1, began_s
        return self.count


def _with_stuck_throttle(outcome: RepairOutcome, stuck: Sequence[Leftover[SettingChange]]) -> RepairOutcome:
    own = throttled_places(outcome.topic, outcome.broker_id)
    left = "; ".join(
        f"{each.change}: {each.reason}" for each in stuck if (each.change.kind, each.change.resource) in own
    )
    if not left:
        return outcome
    return replace(outcome, status=RepairStatus.FAILED, reason=f"{outcome.reason}; the throttle is still on: {left}")
