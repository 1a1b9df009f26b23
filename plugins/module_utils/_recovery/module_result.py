# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How elections ended, as a module returns it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._changes.record import AnyLeftover, OrderLeftover, Undoing
from .._model.partition import NO_LEADER, Broker, TopicPartition
from .._model.reasons import agreeing, plural
from .._model.run import garbage_collection_paused
from .._module.run import describe_row, diff_of, list_lines, partition_results, to_json_types
from .aftermath_findings import limit_findings
from .election_run import ElectionReport
from .groups import count_writable, group_outcomes, total_loss
from .outcome import AftermathFinding, Outcome
from .plan import DONE, DONE_OR_FORESEEN, Status


@dataclass(frozen=True, slots=True)
class Elected:
    """How a run ended, and the brokers as they were when it began."""

    cluster_id: str
    brokers: tuple[Broker, ...]
    report: ElectionReport
    aftermath: tuple[AftermathFinding, ...]
    report_error: str = ""
    """Why there is no report file, although one was asked for."""

    def failure_message(self, *, check_mode: bool) -> str | None:
        """Say what was not done and why; None when everything was done, or, in check mode, would be."""
        undone = failure_message(self.report, check_mode=check_mode)
        return "\n".join(filter(None, [undone, self.report_error])) or None

    @property
    def warnings(self) -> list[str]:
        """Return what a person must know although nothing failed by it."""
        return [
            *warnings(self.report.leftovers, self.report.others),
            *self.report.notes,
            *filter(None, [self.report_error]),
        ]

    @property
    def refused(self) -> set[TopicPartition]:
        """Return the partitions of which no election was requested, so that nothing of them was deleted."""
        return {each.topic_partition for each in self.report.outcomes if each.status is Status.REFUSED}


@garbage_collection_paused()
def results_of(elected: Elected, max_rows: int, salvage: Mapping[str, Any], *, check_mode: bool) -> dict[str, Any]:
    """Return a module's results, with at most ``max_rows`` partitions. ``salvage`` is what was saved of live losers."""
    outcomes = elected.report.outcomes
    failure = elected.failure_message(check_mode=check_mode)
    return {
        "changed": elected.report.is_changed,
        "cluster_id": elected.cluster_id,
        "brokers": to_json_types(elected.brokers),
        **partition_results(outcomes, max_rows, Status, DONE_OR_FORESEEN),
        "groups": to_json_types([each.group for each in group_outcomes(outcomes)]),
        "loss": to_json_types(total_loss(outcomes)),
        "writable": to_json_types(count_writable(outcomes)),
        "leftovers": to_json_types(elected.report.leftovers),
        "aftermath": to_json_types(limit_findings(elected.aftermath, max_rows)),
        "salvage": salvage,
        "diff": diff_of_elections(elected.report, max_rows),
        **({"report_fault": elected.report_error} if elected.report_error else {}),
        **({"msg": failure} if failure else {}),
    }


def failure_message(report: ElectionReport, *, check_mode: bool) -> str | None:
    """Say what was not done and why; None when everything was done, or, in check mode, would be."""
    accepted = DONE_OR_FORESEEN if check_mode else DONE
    not_done = [each for each in report.outcomes if each.status not in accepted]
    lines = [describe_row(each) for each in not_done]
    stuck = [each for each in report.leftovers if each.undoing is Undoing.FAILED]
    lines += [f"{each.change.topic_partition}: an earlier run's order stays: {each.reason}" for each in stuck]
    lines += [
        f"{each.change}: an earlier run's change stays: {each.reason}"
        for each in report.others
        if each.undoing is Undoing.FAILED
    ]
    if not lines:
        return None
    verb = "would not be" if check_mode else f"{agreeing('were', len(not_done))} not"
    return list_lines(f"{len(not_done)} of {plural(len(report.outcomes), 'partition')} {verb} recovered", lines)


def warnings(leftovers: Collection[OrderLeftover], others: Collection[AnyLeftover] = ()) -> list[str]:
    """Return warnings of what an earlier run left: orders that are not restored any more, and settings that wait."""
    return [
        *(
            f"{each.change.topic_partition}: an earlier run's replica order is not restored: {each.reason}"
            for each in leftovers
            if each.undoing in (Undoing.CONFLICT, Undoing.GONE)
        ),
        *(
            f"{each.change}: an earlier run's change stays until a broker is up: {each.reason}"
            for each in others
            if each.undoing is Undoing.WAITS
        ),
    ]


def diff_of_elections(report: ElectionReport, max_rows: int) -> dict[str, str]:
    """Return the diff of the partitions whose leader or replica order differs."""
    return diff_of("leader and replicas", [*_restored(report.leftovers), *_elected(report.outcomes)], max_rows)


_Change = tuple[TopicPartition, str, str]


def _restored(leftovers: Collection[OrderLeftover]) -> list[_Change]:
    return [
        (
            each.change.topic_partition,
            f"replicas {_ids(each.change.changed)}",
            f"replicas {_ids(each.change.without_dropped)}",
        )
        for each in leftovers
        if each.undoing in (Undoing.RESTORED, Undoing.WOULD_RESTORE)
    ]


def _elected(outcomes: Collection[Outcome]) -> list[_Change]:
    described = [
        (
            each.topic_partition,
            _state(each.leader_before, each.replicas),
            _state(each.final_leader, each.replicas_after if each.replicas_after is not None else each.replicas),
        )
        for each in outcomes
        if each.designated_leader is not None
    ]
    return [change for change in described if change[1] != change[2]]


def _state(leader_id: int | None, replicas: Sequence[int]) -> str:
    leader = {None: "leader unknown", NO_LEADER: "no leader"}.get(leader_id, f"leader {leader_id}")
    return f"{leader}, replicas {_ids(replicas)}"


def _ids(replicas: Sequence[int]) -> str:
    return ",".join(map(str, replicas))
