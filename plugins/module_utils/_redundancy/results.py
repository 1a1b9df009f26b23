# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the results of a run of the module redundancy: what failed, and what only waits for a broker. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._changes.record import AnyLeftover, Leftover, SettingChange, Undoing
from .._changes.rollback import conflict_warnings, failure_message, has_restored, leftover_results
from .._model.partition import Broker, TopicPartition
from .._model.reasons import plural
from .._module.run import diff_of, list_rows, partition_results, to_json_types
from .looking import describe_state
from .plan import DONE_OR_FORESEEN, MoveOutcome, RedundancyPlan, ReplicaStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredReplicas:
    """The results of a run."""

    plan: RedundancyPlan
    outcomes: tuple[MoveOutcome, ...]
    leftovers: tuple[AnyLeftover, ...] = ()
    journal_notes: Sequence[str] = ()
    stuck: tuple[Leftover[SettingChange], ...] = ()
    """The settings of our throttle that are still on, and why."""
    silent: tuple[Broker, ...] = ()
    """Brokers that answered when the run began, and do not any more."""
    report_error: str = ""
    plan_digest: str | None = None
    """None if the plan was neither read nor written: then nobody can approve it."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what a reader must know beside the outcomes: of the plan, and of the run."""
        stopped = (
            f"broker {each.broker_id} answered when this run began, and is {describe_state(each)} now"
            for each in self.silent
        )
        return (*self.plan.notes, *stopped)


def warnings(done: RestoredReplicas) -> list[str]:
    """Return warnings, which are no failures."""
    waiting = [each for each in done.stuck if each.undoing is Undoing.WAITS]
    return [
        *done.notes,
        *conflict_warnings(done.journal_notes, done.leftovers),
        *(
            f"broker {each.change.resource} is down, so our throttle is still on ({each.change}). It stays in the "
            "journal, and the first run that finds the broker up removes it"
            for each in waiting
        ),
    ]


def results_of(done: RestoredReplicas, max_rows: int) -> dict[str, Any]:
    """Return the module's results."""
    bad = [each for each in done.outcomes if each.status not in DONE_OR_FORESEEN]
    head = f"{plural(len(bad), 'partition', 'do')} not have all replicas"
    problems = [list_rows(head, bad)] if bad else []
    stuck = [each for each in done.stuck if each.undoing is not Undoing.WAITS]
    problems += [f"the throttle is still on: {each.change}: {each.reason}" for each in stuck]
    failure = "\n".join(filter(None, [failure_message(problems, done.leftovers), done.report_error]))
    changed = [each for each in done.outcomes if each.status in (ReplicaStatus.RESTORED, ReplicaStatus.WOULD_RESTORE)]
    bytes_to_copy = sum(each.size_bytes * len(each.adding) for each in done.plan.moves)
    return {
        "changed": has_restored(done.leftovers) or bool(changed),
        "cluster_id": done.plan.cluster_id,
        "lost_brokers": list(done.plan.lost_brokers),
        "racks": to_json_types(done.plan.racks),
        "plan_digest": done.plan_digest,
        "bytes_to_copy": bytes_to_copy,
        **partition_results(
            done.outcomes, max_rows, ReplicaStatus, {ReplicaStatus.RESTORED}, {ReplicaStatus.WOULD_RESTORE}
        ),
        "notes": list(done.notes),
        "leftovers": leftover_results(done.leftovers),
        "diff": diff_of(
            "replica sets",
            [(TopicPartition(each.topic, each.partition), [*each.replicas], [*each.target]) for each in changed],
            max_rows,
        ),
        **({"msg": failure} if failure else {}),
    }
