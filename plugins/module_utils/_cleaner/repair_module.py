# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run log_cleaner_repair: re-create marked or named replicas, and build the results."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._changes.record import AnyLeftover
from .._changes.rollback import conflict_warnings, failure_message, has_restored, leftover_results, restored_diff
from .._kafka.port import Kafka
from .._kafka.wire import Wire
from .._model.partition import ALL_PARTITIONS, TopicPartition
from .._model.run import count_by_status
from .._model.setting import RepairStatus
from .._module.connection import connection_settings, controller_listeners
from .._module.options import wanted_partitions
from .._module.quorum_preflight import require_quorum
from .._module.run import call_all, to_json_types
from . import inspection
from .cleaner_run import CleanerRun
from .diagnosis import Thresholds, diagnose
from .marks import MarkedReplica, ReadLimits, describe_unread_marks, find_marked_replicas
from .metrics_source import MetricsSource, metrics_source
from .options import CleanerOptionsError, thresholds
from .repair import Repairer, RepairPace
from .repair_plan import RepairOutcome, RepairPlanner, RepairTerms
from .replica import Safeguard
from .safety import Overrides


@dataclass(frozen=True, slots=True)
class Repaired:
    """The results of a run of log_cleaner_repair."""

    cluster_id: str
    outcomes: tuple[RepairOutcome, ...]
    unidentified_marks: tuple[str, ...]
    """A text for each directory with marks whose replicas could not be found."""
    leftovers: tuple[AnyLeftover, ...]
    notes: Sequence[str]
    """Messages about the journal; complete once it is closed."""

    @property
    def has_work(self) -> bool:
        """Whether a run without check mode would write anything."""
        return bool(self.leftovers) or any(each.status is RepairStatus.WOULD_REPAIR for each in self.outcomes)


def repair(params: Mapping[str, Any], *, check_mode: bool, stop: threading.Event) -> Repaired:
    """Undo the changes of earlier runs, then re-create the marked or named replicas.

    A run that finds nothing to do takes no lock and sends no write request. Copies are read in search of marks before
    the lock is taken, because that may take long.

    Raises KafkaOpsError. Invalid options are all refused at once, before any request.
    """
    settings, controllers, source, limits, named, _options = call_all(
        lambda: connection_settings(params),
        lambda: controller_listeners(params),
        lambda: metrics_source(params),
        lambda: thresholds(params),
        lambda: _named_partitions(params),
        lambda: _check_repair(params),
    )
    with Wire(settings, controllers) as wire:
        work = _RepairWork(Kafka(wire), source, limits, named, params, stop)
        foreseen = work.foresee(reads_copies=not check_mode or params["search_in_check_mode"])
        if check_mode or not foreseen.has_work:
            return foreseen
        require_quorum(wire, params)
        leftovers: tuple[AnyLeftover, ...] = ()
        notes: Sequence[str] = ()
        if foreseen.leftovers:
            leftovers, notes = work.roll_back()
            # The rollback may have re-created a dropped replica.
            foreseen = work.foresee(reads_copies=True)
        done = work.carry_out(foreseen) if foreseen.has_work else foreseen
        return replace(done, leftovers=(*leftovers, *done.leftovers), notes=[*dict.fromkeys([*notes, *done.notes])])


def _named_partitions(params: Mapping[str, Any]) -> tuple[TopicPartition, ...] | None:
    named = wanted_partitions(params)
    whole = [each.topic for each in named or () if each.partition == ALL_PARTITIONS]
    if whole:
        raise CleanerOptionsError(f"no partition of {', '.join(whole)} is named: say which are to be repaired")
    return named


def _check_repair(params: Mapping[str, Any]) -> None:
    errors = [
        f"{name} is {params[name]}, which is not above 0"
        for name in ("max_concurrent", "repair_timeout_ms", "max_read_bytes", "max_total_read_bytes", "attempts")
        if params[name] < 1
    ]
    if (params["partitions"] or params["partitions_file"]) and not params["brokers"]:
        errors.append("partitions are named without brokers: set brokers to say which replicas to repair")
    if not params["partitions"] and not params["partitions_file"] and params["metrics_source"] == "none":
        errors.append("without metrics it is unknown which replicas are marked: name partitions and brokers")
    if errors:
        raise CleanerOptionsError("; ".join(errors))


@dataclass(frozen=True, slots=True)
class _RepairWork:
    kafka: Kafka
    source: MetricsSource | None
    limits: Thresholds
    named: Sequence[TopicPartition] | None
    params: Mapping[str, Any]
    stop: threading.Event

    def foresee(self, *, reads_copies: bool) -> Repaired:
        """Return the repairs that a run would carry out. Takes no lock and writes nothing."""
        run = self._begin()
        leftovers, notes = run.preview_leftovers()
        cleaners = self._inspect(run)
        if self.named is None and not reads_copies:
            targets: Sequence[MarkedReplica] = ()
            unidentified = describe_unread_marks(cleaners)
        else:
            targets, unidentified = self._find_targets(run, cleaners)
        repairs, outcomes = self._planner(run, cleaners).plan(targets)
        outcomes += [each.outcome(RepairStatus.WOULD_REPAIR, each.reason) for each in repairs]
        return _result(run, outcomes, unidentified, leftovers, notes)

    def roll_back(self) -> tuple[tuple[AnyLeftover, ...], Sequence[str]]:
        """Undo the changes of earlier runs, under the lock. Return the results, and notes on the journal."""
        with self._begin().locked() as locked:
            leftovers = locked.rollback.undo()
        return leftovers, locked.journal.notes

    def carry_out(self, foreseen: Repaired) -> Repaired:
        """Carry out the foreseen repairs, under the lock. All is judged again, but marks are not searched again."""
        params = self.params
        with self._begin().locked() as locked:
            run = locked.run
            leftovers = locked.rollback.undo()
            cleaners = self._inspect(run)
            targets = [
                MarkedReplica(each.topic, each.partition, each.broker_id)
                for each in foreseen.outcomes
                if each.status is RepairStatus.WOULD_REPAIR
            ]
            outcomes = [each for each in foreseen.outcomes if each.status is not RepairStatus.WOULD_REPAIR]
            planner = self._planner(run, cleaners, frozenset(targets))
            repairs, refused = planner.plan(targets)
            pace = RepairPace(
                max_concurrent=params["max_concurrent"],
                throttle_bytes_per_second=params["throttle_bytes_per_second"] or None,
                verify_timeout_s=params["verify_timeout_ms"] / 1000,
            )
            safeguard = Safeguard(self.kafka, planner.living, planner.terms.overrides)
            repairer = Repairer(dict(planner.cleaners), self.source, pace, safeguard)
            outcomes += [*refused, *repairer.carry_out(repairs, locked.maker, run.settings, locked.rollback)]
        return _result(run, outcomes, foreseen.unidentified_marks, leftovers, locked.journal.notes)

    def _begin(self) -> CleanerRun:
        return CleanerRun.begin(self.kafka, self.params, self.stop)

    def _planner(
        self,
        run: CleanerRun,
        cleaners: Sequence[inspection.Cleaner],
        proven: frozenset[MarkedReplica] = frozenset(),
    ) -> RepairPlanner:
        terms = RepairTerms(
            overrides=Overrides(
                allow_below_min_isr=self.params["allow_below_min_isr"],
                allow_single_copy=self.params["allow_single_copy"],
            ),
            force=self.params["force"],
            max_read_bytes=self.params["max_read_bytes"],
            proven=proven,
        )
        by_broker = {each.broker_id: each for each in cleaners}
        return RepairPlanner(self.kafka, run.living, by_broker, terms, run.progress, self.stop)

    def _inspect(self, run: CleanerRun) -> tuple[inspection.Cleaner, ...]:
        if self.source is not None:
            return inspection.inspect_by_metrics(
                run.kafka,
                run.cluster,
                run.wanted,
                self.source.for_cluster(run.cluster),
                self.limits,
                name_suspects=False,
            )
        facts = inspection.read_facts(run.kafka, run.cluster, run.wanted, None)
        return tuple(inspection.Cleaner(each, diagnose(each, self.limits)) for each in facts)

    def _find_targets(
        self, run: CleanerRun, cleaners: Sequence[inspection.Cleaner]
    ) -> tuple[Sequence[MarkedReplica], tuple[str, ...]]:
        if self.named is None:
            limits = ReadLimits(self.params["max_read_bytes"], self.params["max_total_read_bytes"])
            return find_marked_replicas(run.kafka, run.cluster, cleaners, limits, run.progress, self.stop)
        return [
            MarkedReplica(each.topic, each.partition, broker_id)
            for each in self.named
            for broker_id in self.params["brokers"]
        ], ()


def _result(
    run: CleanerRun,
    outcomes: Sequence[RepairOutcome],
    unidentified_marks: tuple[str, ...],
    leftovers: tuple[AnyLeftover, ...],
    notes: Sequence[str],
) -> Repaired:
    by_replica = sorted(outcomes, key=lambda each: (each.topic, each.partition, each.broker_id))
    return Repaired(run.cluster.cluster_id, tuple(by_replica), unidentified_marks, leftovers, notes)


def warnings(done: Repaired) -> list[str]:
    """Return warnings, which are no failures."""
    return [*done.unidentified_marks, *conflict_warnings(done.notes, done.leftovers)]


def results_of(done: Repaired) -> dict[str, Any]:
    """Return the module's results."""
    failure = _failure(done)
    return {
        "changed": has_restored(done.leftovers)
        or any(each.status in _REPAIRS or _has_begun(each) for each in done.outcomes),
        "cluster_id": done.cluster_id,
        "summary": count_by_status((each.status for each in done.outcomes), RepairStatus),
        "outcomes": to_json_types(done.outcomes),
        "unidentified_marks": list(done.unidentified_marks),
        "leftovers": leftover_results(done.leftovers),
        "diff": _diff(done),
        **({"msg": failure} if failure else {}),
    }


_REPAIRS = (RepairStatus.REPAIRED, RepairStatus.WOULD_REPAIR)
_BAD_REPAIRS = (RepairStatus.REFUSED, RepairStatus.STOPPED, RepairStatus.FAILED)


def _has_begun(outcome: RepairOutcome) -> bool:
    return outcome.status is RepairStatus.FAILED and outcome.size_before is not None


def _diff(done: Repaired) -> dict[str, Any]:
    """Return the replicas that are re-created."""
    sources = {
        f"{each.topic}-{each.partition} on broker {each.broker_id}": each.source
        for each in done.outcomes
        if each.status in _REPAIRS
    }
    return {
        "before": dict.fromkeys(sources, "uncleanable") | restored_diff(done.leftovers, "changed"),
        "after": {name: f"re-created from broker {source}" for name, source in sources.items()}
        | restored_diff(done.leftovers, "restored"),
    }


def _failure(done: Repaired) -> str:
    errors = [
        f"{each.topic}-{each.partition} on broker {each.broker_id}: {each.status.value}: {each.reason}"
        for each in done.outcomes
        if each.status in _BAD_REPAIRS
    ]
    return failure_message([*errors, *done.unidentified_marks], done.leftovers)
