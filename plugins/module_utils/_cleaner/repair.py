# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clear the uncleanable marks of replicas without a restart of the broker: each is dropped and re-created.

All are throttled meanwhile, on the fetching side alone, and these replicas alone: other replication is as fast as
before. The throttle is put on beside what others have set, and off when all are whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from .._changes.journal import Journal
from .._changes.record import JournalError, ReplicaChange, SettingChange, Undoing
from .._changes.replica_sets import StepError
from .._changes.rollback import Rollback
from .._changes.setting_writer import (
    THROTTLE_RATE,
    THROTTLED_REPLICAS,
    SettingWriter,
    begin_change,
    restore_setting_unless_in_use,
    throttled_places,
)
from .._model.run import KafkaOpsError
from .._model.setting import RepairStatus, Setting
from .facts import BACKOFF_MS, CleanerMetrics
from .inspection import Cleaner, ReadMetrics
from .metrics import MetricsError
from .repair_plan import Repair, RepairOutcome
from .replica import ReplicaMaker, Safeguard, UnsafeError

_DEFAULT_BACKOFF_MS = 15_000
_PASS_MARGIN_S = 2.0
_LOOK_EVERY_S = 0.3
_PASSES = 3
"""One may have begun before the drop was seen, and one is enough."""
_SAME_RUN_S = 0.5
"""Metrics are read after they were made: the same run seems to have begun a little earlier or later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairPace:
    """How fast to repair, and how long to wait for metrics to show it."""

    max_concurrent: int
    """On so many brokers, one replica of each."""
    throttle_bytes_per_second: int | None
    """For each broker that fetches a new replica; None is no limit."""
    verify_timeout_s: float


@dataclass(frozen=True, slots=True)
class Repairer:
    """Carries repairs out on one cluster."""

    cleaners: Mapping[int, Cleaner]
    read_metrics: ReadMetrics | None
    pace: RepairPace
    safeguard: Safeguard

    def carry_out(
        self, repairs: Sequence[Repair], maker: ReplicaMaker, settings: SettingWriter, rollback: Rollback
    ) -> list[RepairOutcome]:
        """Repairs on some brokers at a time, under a throttle that is taken off once no replica is copied any more.

        What cannot be throttled is not begun. Raises JournalError before anything was changed.
        """
        if maker.stop.is_set():
            return [each.outcome(RepairStatus.STOPPED, "the run was asked to stop") for each in repairs]
        outcomes: list[RepairOutcome] = []
        throttle = Throttle(settings, rollback.journal)
        try:
            rate = self.pace.throttle_bytes_per_second
            faults = throttle.apply(rate, [each.change for each in repairs]) if rate is not None else {}
            outcomes += [
                each.outcome(RepairStatus.FAILED, f"it was not begun: {faults[each.change]}")
                for each in repairs
                if each.change in faults
            ]
            outcomes += self._by_broker([each for each in repairs if each.change not in faults], maker)
        finally:
            # A replica that may still be dropped late is copied once more, and that under the throttle, too.
            rollback.undo_late_changes()
            stuck = throttle.remove()
            rollback.undo_late_changes()
        return [_with_throttle_left(each, stuck) for each in outcomes]

    def _by_broker(self, repairs: Sequence[Repair], maker: ReplicaMaker) -> list[RepairOutcome]:
        # One after the other on a broker, since its metrics only count marks: not which replica has one.
        by_broker: dict[int, list[Repair]] = {}
        for each in repairs:
            by_broker.setdefault(each.change.broker_id, []).append(each)
        with ThreadPoolExecutor(max_workers=self.pace.max_concurrent) as pool:
            done = pool.map(lambda those: [self._carry_out(maker, each) for each in those], by_broker.values())
            return [outcome for those in done for outcome in those]

    def _carry_out(self, maker: ReplicaMaker, repair: Repair) -> RepairOutcome:
        change = repair.change
        if maker.stop.is_set():
            return repair.outcome(RepairStatus.STOPPED, "the run was asked to stop")
        before = maker.read_size_or_none(change, change.broker_id)
        marked = self._marked(change.broker_id)
        try:
            maker.recreate(change, self.safeguard, self._forgetting(change.broker_id, marked))
        except UnsafeError as fault:
            return repair.outcome(RepairStatus.REFUSED, str(fault))
        except StepError as fault:
            return replace(repair.outcome(RepairStatus.FAILED, str(fault)), size_before=before)
        except KafkaOpsError as fault:
            return repair.outcome(RepairStatus.FAILED, f"it was not begun: {fault}")
        after = maker.read_size_or_none(change, change.broker_id)
        outcome = replace(repair.outcome(RepairStatus.REPAIRED, repair.reason), size_before=before, size_after=after)
        return self._verified(outcome, marked)

    def _forgetting(self, broker_id: int, marked: int | None) -> Callable[[float], bool]:
        """By metrics: the broker has fewer marks. Without: more than a pass of its cleaner has gone by."""
        two_passes_s = self._two_passes_s(broker_id)
        runs = _Runs()

        def is_forgotten(seconds: float) -> bool:
            if not marked:
                return seconds > two_passes_s
            metrics = self._metrics(broker_id)
            found = metrics.uncleanable_partitions if metrics is not None else None
            if metrics is None or found is None:
                return False
            if found >= marked and runs.since(seconds, metrics) >= _PASSES and seconds > two_passes_s:
                # The cleaner forgets a mark in its first pass without the partition.
                raise StepError(
                    f"the cleaner of broker {broker_id} ran {runs.count} times since the replica was dropped, and "
                    f"still has {found} marks, as many as before: the mark is not this replica's"
                )
            return found < marked

        return is_forgotten

    def _two_passes_s(self, broker_id: int) -> float:
        cleaner = self.cleaners.get(broker_id)
        backoff = cleaner.facts.settings.get(BACKOFF_MS) if cleaner is not None else None
        text = backoff.value if backoff is not None else None
        a_pass_s = (int(text) if text is not None and text.isdecimal() else _DEFAULT_BACKOFF_MS) / 1000
        return 2 * a_pass_s + _PASS_MARGIN_S

    def _verified(self, outcome: RepairOutcome, marked: int | None) -> RepairOutcome:
        """Watch for a mark that comes back. It does so within a pass or two."""
        if not marked:
            return replace(outcome, verified_by="replicas")
        begun = self.safeguard.kafka.clock.monotonic()
        deadline = begun + self.pace.verify_timeout_s
        watched_until = min(begun + self._two_passes_s(outcome.broker_id), deadline)
        while True:
            found = self._marked(outcome.broker_id)
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

    def _marked(self, broker_id: int) -> int | None:
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
    """The runs of a cleaner that were seen since a replica was dropped."""

    count: int = 0
    _last_s: float = 0.0

    def since(self, seconds: float, metrics: CleanerMetrics) -> int:
        """Return how many were seen to begin, by ``time-since-last-run-ms``, ``seconds`` after the drop."""
        if metrics.time_since_last_run_ms is not None:
            began_s = seconds - metrics.time_since_last_run_ms / 1000
            if began_s > self._last_s + _SAME_RUN_S:
                self.count, self._last_s = self.count + 1, began_s
        return self.count


def _with_throttle_left(outcome: RepairOutcome, stuck: Mapping[SettingChange, str]) -> RepairOutcome:
    own = throttled_places(outcome.topic, outcome.broker_id)
    left = "; ".join(why for change, why in stuck.items() if (change.kind, change.resource) in own)
    if not left:
        return outcome
    return replace(outcome, status=RepairStatus.FAILED, reason=f"{outcome.reason}; the throttle is still on: {left}")


_ALL = "*"

Place: TypeAlias = tuple[str, str]
"""Kind and resource, as a SettingChange has them."""


@dataclass(slots=True)
class Throttle:
    """What was put on, so that the same is taken off."""

    writer: SettingWriter
    journal: Journal
    begun: list[SettingChange] = field(default_factory=list)

    def apply(self, bytes_per_second: int, changes: Sequence[ReplicaChange]) -> dict[ReplicaChange, str]:
        """Set it for each replica that is to be re-created, and return why for each that is not throttled.

        Somebody else's lower rate stays, and so does their list of throttled replicas.

        Raises JournalError.
        """
        faults: dict[ReplicaChange, str] = {}
        for broker_id in sorted({each.broker_id for each in changes}):
            fault = self._begin(("broker", str(broker_id)), THROTTLE_RATE, partial(_lower, rate=str(bytes_per_second)))
            faults |= {each: fault for each in changes if fault and each.broker_id == broker_id}
        left = [each for each in changes if each not in faults]
        for topic in sorted({each.topic for each in left}):
            those = [each for each in left if each.topic == topic]
            replicas = [f"{each.partition}:{each.broker_id}" for each in those]
            fault = self._begin(("topic", topic), THROTTLED_REPLICAS, partial(_merged, replicas=replicas))
            faults |= dict.fromkeys(those, fault) if fault else {}
        return faults

    def remove(self) -> dict[SettingChange, str]:
        """Remove it where no replica is copied any more, and return why for each setting that is not restored.

        Raises JournalError.
        """
        stuck = {}
        for each in reversed(self.begun):
            undoing, reason = restore_setting_unless_in_use(self.writer, self.journal, each)
            if undoing in (Undoing.FAILED, Undoing.CONFLICT):
                stuck[each] = f"{each.name} of {each.kind} {each.resource}: {reason}"
        return stuck

    def _begin(self, place: Place, name: str, wanted: Callable[[Setting | None], str | None]) -> str:
        """Make one change, if what is in force is not as ``wanted``, and return why it could not be made."""
        try:
            found = self.writer.read_effective(SettingChange(*place, name, None, ""))
            changed = wanted(found)
            if changed is not None:
                original = found.own if found is not None else None
                change = SettingChange(*place, name, original, changed)
                self.begun.append(begin_change(self.writer, self.journal, change))
        except JournalError:
            raise
        except KafkaOpsError as fault:
            return f"it cannot be throttled: {fault}"
        return ""


def _merged(found: Setting | None, replicas: Sequence[str]) -> str | None:
    """Somebody else's list with our replicas in it; None when they are."""
    theirs = [each.strip() for each in ((found.value if found is not None else None) or "").split(",") if each.strip()]
    ours = [each for each in replicas if each not in theirs]
    return None if _ALL in theirs or not ours else ",".join([*theirs, *ours])


def _lower(found: Setting | None, rate: str) -> str | None:
    """Our rate; None when what is in force is not above it."""
    text = found.value if found is not None else None
    return None if text is not None and text.isdecimal() and int(text) <= int(rate) else rate
