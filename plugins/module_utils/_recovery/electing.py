# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From a module's parameters to elections that were carried out, and how they ended, as the module returns it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from .._changes.home import JournalHome
from .._changes.record import OrderLeftover, Undoing
from .._documents.report_file import ReportFile
from .._kafka.port import Kafka
from .._kafka.settings import ConnectionSettings
from .._kafka.wire import Wire
from .._model.partition import NO_LEADER, Broker, TopicPartition
from .._model.run import Progress, RunMode
from .._module.connection import connection_settings
from .._module.options import journal_options, progress_to
from .._module.quorum_preflight import QuorumCheck
from .._module.run import all_of, line, listed
from .aftermath import look_at_aftermath
from .designations import given_designations, plan_of_designations
from .election import ElectionOptions, ElectionReport, run_elections
from .observation import with_unregistered
from .options import Designations
from .outcome import DONE, DONE_OR_FORESEEN, REPORT_FILE, AftermathFinding, Outcome, report_at
from .plan import Plan, SaveTails, Status
from .policies import refuse_a_race


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


def elect(
    params: Mapping[str, Any],
    *,
    check_mode: bool,
    stop: threading.Event,
    save_tails: Callable[[ConnectionSettings, Progress], SaveTails] | None = None,
) -> Elected:
    """Carry out what the parameters name, and write the report that was asked for, or say why it could not be written.

    Raises KafkaOpsError; what can be refused without looking at the cluster is refused before that, all at once.
    """
    report_file, settings, given, options = all_of(
        lambda: ReportFile(params["report_file"]),
        lambda: connection_settings(params),
        lambda: given_designations(params),
        lambda: ElectionOptions(
            journal=journal_options(params),
            attempts=params["recovery_election_attempts"],
            verify_timeout_ms=params["verify_timeout_ms"],
            check_mode=check_mode,
            timeout_ms=params["election_timeout_ms"],
        ),
    )
    progress = progress_to(params["progress_file"])
    if save_tails is not None:
        options = replace(options, save_tails=save_tails(settings, progress))
    terms = Terms(
        options,
        progress,
        stop,
        include_internal=params["include_internal_topics"],
        acknowledges_unclean_leader_election=params["acknowledge_unclean_leader_election"],
        reports_aftermath=params["report_aftermath"],
        may_drop=params["allow_dropping_unregistered"],
    )
    check = QuorumCheck(settings, params, check_mode=check_mode)
    with Wire(settings) as wire:
        return with_report(carry_out(Kafka(wire), given, terms, check.require), report_file, check_mode=check_mode)


@dataclass(frozen=True, slots=True)
class Terms:
    """How elections are carried out, as the person asked for it."""

    options: ElectionOptions
    progress: Progress
    stop: threading.Event
    include_internal: bool
    acknowledges_unclean_leader_election: bool
    """The controller may elect by itself, without looking at logs, while the run goes on."""
    reports_aftermath: bool
    may_drop: bool = False
    """Bare designations may drop unregistered brokers from a replica set. A plan says itself what it drops."""


def carry_out(kafka: Kafka, given: Plan | Designations, terms: Terms, require_quorum: Callable[[], None]) -> Elected:
    """Carry a plan out, or bare designations. ``require_quorum`` raises unless the controller quorum bears writes.

    Raises KafkaOpsError, before the first write.
    """
    terms.progress.step("looking at the brokers")
    cluster = kafka.describe_cluster()
    if isinstance(given, Plan):
        plan = given
    else:
        plan = plan_of_designations(kafka, given, include_internal=terms.include_internal)
        plan = with_unregistered(kafka, plan, may_drop=terms.may_drop)
    mentioned = frozenset(broker_id for each in plan.elections for broker_id in each.replicas)
    brokers = kafka.look_at_brokers(cluster, mentioned)
    # Orders that an earlier run left are restored even where nothing is planned: that is a write as well.
    if plan.elections or JournalHome(kafka, cluster, terms.options.journal, brokers).read().changes:
        require_quorum()
    if not terms.acknowledges_unclean_leader_election:
        refuse_a_race(kafka, [each.topic_partition for each in plan.elections], brokers)
    report = run_elections(kafka, plan, terms.options, terms.progress, terms.stop, brokers)
    report = replace(report, notes=(*report.notes, *kafka.stale_views()))
    aftermath = look_at_aftermath(kafka, report.outcomes) if terms.reports_aftermath else ()
    return Elected(cluster.cluster_id, brokers, report, aftermath)


def with_report(elected: Elected, report_file: ReportFile, *, check_mode: bool) -> Elected:
    """Write the report that was asked for. An error becomes part of the result, since the leaders are elected."""
    document_at = report_at(
        mode=RunMode.CHECK if check_mode else RunMode.APPLY,
        cluster_id=elected.cluster_id,
        brokers=elected.brokers,
        outcomes=elected.report.outcomes,
        aftermath=elected.aftermath,
    )
    return replace(elected, report_error=report_file.write_or_explain(document_at, REPORT_FILE))


def failure_message(report: ElectionReport, *, check_mode: bool) -> str | None:
    """Say what was not done and why; None when everything was done, or, in check mode, would be."""
    accepted = DONE_OR_FORESEEN if check_mode else DONE
    not_done = [each for each in report.outcomes if each.status not in accepted]
    lines = [line(each) for each in not_done]
    stuck = [each for each in report.leftovers if each.undoing is Undoing.FAILED]
    lines += [f"{each.change.topic_partition}: an earlier run's order stays: {each.reason}" for each in stuck]
    lines += [
        f"{each.change}: an earlier run's change stays: {each.reason}"
        for each in report.others
        if each.undoing is Undoing.FAILED
    ]
    if not lines:
        return None
    head = (
        f"{len(not_done)} of {len(report.outcomes)} partitions {'would not be' if check_mode else 'were not'} recovered"
    )
    return listed(head, lines)


def warnings(leftovers: Collection[OrderLeftover]) -> list[str]:
    """Return warnings of orders that an earlier run left, and that are not restored any more."""
    return [
        f"{each.change.topic_partition}: an earlier run's replica order is not restored: {each.reason}"
        for each in leftovers
        if each.undoing in (Undoing.CONFLICT, Undoing.GONE)
    ]


def diff_of(report: ElectionReport, max_rows: int) -> dict[str, str]:
    """Leader and replica order, before and after, of the partitions where they differ."""
    changes = [*_restored(report.leftovers), *_elected(report.outcomes)]
    rest = f"... and {len(changes) - max_rows} more\n" if len(changes) > max_rows else ""
    shown = [*islice(changes, max_rows)]
    return {
        "before_header": "leader and replicas",
        "after_header": "leader and replicas",
        "before": "".join(f"{partition}: {before}\n" for partition, before, _after in shown) + rest,
        "after": "".join(f"{partition}: {after}\n" for partition, _before, after in shown) + rest,
    }


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
            _state(
                each.designated_leader if each.status is Status.WOULD_RECOVER else each.leader_after,
                each.replicas_after if each.replicas_after is not None else each.replicas,
            ),
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
