# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From a module's parameters to elections that were carried out: steps 8 to 16 of a recovery (``recovery``)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from .._changes.cluster_journal import ClusterJournal
from .._documents.report_file import ReportFile
from .._history.unclean_elections import begin_to_count
from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._kafka.settings import ConnectionSettings
from .._kafka.wire import Wire
from .._model.log_contents import SaveTails
from .._model.partition import Broker, PartitionState
from .._model.run import Progress, RunMode
from .._model.silent_leaders import led_by_silent, silent_brokers, wait_for_fencing
from .._module.connection import connection_settings, controller_listeners
from .._module.options import journal_options, progress_to
from .._module.quorum_preflight import QuorumCheck
from .._module.run import call_all
from .._spark.options import EngineUse
from .aftermath import find_aftermath
from .designations import plan_from_designations, read_given_designations
from .election_run import ElectionOptions, ElectionReport, refuse_other_cluster, run_elections
from .module_result import Elected
from .observation import plan_drops
from .offline_dirs import add_offline_dirs
from .options import Designations
from .outcome import REPORT_FILE, prepare_report
from .plan import Plan, Status
from .policies import refuse_unclean_by_controller
from .writability import add_writability


class Tails(Protocol):
    """Saves what live losers hold and designated leaders do not (_salvage/tails_module.py)."""

    def check(self) -> None:
        """Raise KafkaOpsError when it is known now that nothing can be saved, and something must be."""

    def saver(self, settings: ConnectionSettings, progress: Progress) -> SaveTails | None:
        """Return what saves them over these connections; None where none are to be saved."""


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
    allow_empty_leader: bool = False
    """Bare designations may name an empty log although records may exist elsewhere. A plan says so itself."""
    fencing_wait_ms: int = 0
    """How long to wait while leaders of planned partitions do not answer, until the controller fences them."""
    may_drop: bool = False
    """Bare designations may drop unregistered brokers from a replica set. A plan says itself what it drops."""
    metadata_log_dir: str | None = None
    """A log directory with a copy of the metadata log, for elections before this run."""

    def saving(self, tails: Tails, settings: ConnectionSettings) -> Terms:
        """Return these terms with the tails of live losers saved first, if they are to be."""
        return replace(self, options=replace(self.options, save_tails=tails.saver(settings, self.progress)))


def terms_of(params: Mapping[str, Any], stop: threading.Event, *, check_mode: bool) -> Terms:
    """Read how elections are carried out. Opens no connection.

    Raises ElectionOptionsError or JournalError.
    """
    options = ElectionOptions(
        journal=journal_options(params),
        attempts=params["recovery_election_attempts"],
        verify_timeout_ms=params["verify_timeout_ms"],
        check_mode=check_mode,
        timeout_ms=params["election_timeout_ms"],
    )
    return Terms(
        options,
        progress_to(params["progress_file"]),
        stop,
        include_internal=params["include_internal_topics"],
        acknowledges_unclean_leader_election=params["acknowledge_unclean_leader_election"],
        reports_aftermath=params["report_aftermath"],
        allow_empty_leader=params["allow_empty_leader"],
        fencing_wait_ms=0 if check_mode else params["fencing_wait_ms"],
        may_drop=params["allow_dropping_unregistered"],
        metadata_log_dir=params.get("metadata_log_dir"),
    )


def elect(params: Mapping[str, Any], *, check_mode: bool, stop: threading.Event, tails: Tails) -> Elected:
    """Carry out what the parameters name, and write the report that was asked for, or say why it could not be written.

    Raises KafkaOpsError; what can be refused without looking at the cluster is refused before that, all at once.
    """
    report_file, settings, controllers, given, terms, _checked = call_all(
        lambda: ReportFile(params["report_file"]),
        lambda: connection_settings(params),
        lambda: controller_listeners(params),
        lambda: read_given_designations(params),
        lambda: terms_of(params, stop, check_mode=check_mode),
        tails.check,
    )
    terms = terms.saving(tails, settings)
    check = QuorumCheck(settings, controllers, params, check_mode=check_mode)
    with Wire(settings, controllers) as wire:
        return with_report(carry_out(Kafka(wire), given, terms, check.require), report_file, check_mode=check_mode)


def carry_out(kafka: Kafka, given: Plan | Designations, terms: Terms, require_quorum: Callable[[], None]) -> Elected:
    """Carry a plan out, or bare designations. ``require_quorum`` raises unless the controller quorum bears writes.

    Raises KafkaOpsError with all refusals, before the first write.
    """
    terms.progress.step("looking at the brokers")
    named = [each.topic_partition for each in given.elections] if isinstance(given, Plan) else [*given]
    if named and terms.fencing_wait_ms:
        wait_for_fencing(
            lambda: kafka.read_partition_states(named),
            lambda found: _led_by_silent(kafka, found.states.values()),
            terms.fencing_wait_ms,
            kafka.clock,
            terms.progress.step,
        )
    cluster = kafka.describe_cluster()
    if isinstance(given, Plan):
        # What else stands against it here would mislead: another cluster may have topics of the same names.
        refuse_other_cluster(kafka, given, cluster.cluster_id)
        plan = given
    else:
        plan = plan_from_designations(
            kafka,
            given,
            include_internal=terms.include_internal,
            allow_empty_leader=terms.allow_empty_leader,
        )
        plan = plan_drops(kafka, plan, may_drop=terms.may_drop)
    mentioned = frozenset(broker_id for each in plan.partitions for broker_id in each.replicas)
    brokers = add_offline_dirs(kafka, kafka.probe_brokers(cluster, mentioned), plan.partitions)
    checks: list[Callable[[], None]] = []
    notes: list[str] = []
    if not terms.acknowledges_unclean_leader_election:
        planned = [each.topic_partition for each in plan.elections]
        checks.append(lambda: notes.extend(refuse_unclean_by_controller(kafka, planned, brokers)))
    # Orders that an earlier run left are restored even where nothing is planned: that is a write as well.
    # The quorum comes last, because this waits until it was observed.
    if plan.elections or ClusterJournal(kafka, cluster, terms.options.journal, brokers).read().changes:
        checks.append(require_quorum)
    call_all(*checks)
    report = run_elections(kafka, plan, terms.options, terms.progress, terms.stop, brokers)
    report = replace(report, notes=(*notes, *report.notes, *kafka.notes_on_views()))
    if not terms.options.check_mode:
        report = replace(report, outcomes=add_writability(kafka, report.outcomes))
    counted_brokers = _begin_to_count(kafka, cluster, brokers, report, terms)
    aftermath = find_aftermath(kafka, report.outcomes) if terms.reports_aftermath else ()
    return Elected(cluster.cluster_id, counted_brokers(), report, aftermath)


def _begin_to_count(
    kafka: Kafka, cluster: Cluster, brokers: tuple[Broker, ...], report: ElectionReport, terms: Terms
) -> Callable[[], tuple[Broker, ...]]:
    """Begin to count unclean elections since brokers left, those of this run included."""
    if all(each.status is Status.ALREADY_ONLINE for each in report.outcomes):
        return lambda: brokers
    return begin_to_count(kafka, brokers, None, cluster.cluster_id, log_dir=terms.metadata_log_dir)


def _led_by_silent(kafka: Kafka, states: Iterable[PartitionState]) -> Sequence[object]:
    """Return the partitions that have a leader, by the metadata, which does not answer. Usually none has a leader."""
    led = [each for each in states if not each.is_offline]
    return [*led_by_silent(led, silent_brokers(kafka.probe_brokers(kafka.describe_cluster())))] if led else ()


def with_report(
    elected: Elected, report_file: ReportFile, *, check_mode: bool, engine: EngineUse | None = None
) -> Elected:
    """Write the report that was asked for. An error becomes part of the result, since the leaders are elected.

    ``engine`` ranked the replicas, if this run did so.
    """
    document_at = prepare_report(
        mode=RunMode.CHECK if check_mode else RunMode.APPLY,
        cluster_id=elected.cluster_id,
        brokers=elected.brokers,
        outcomes=elected.report.outcomes,
        aftermath=elected.aftermath,
        engine=engine,
    )
    return replace(elected, report_error=report_file.write_or_explain(document_at, REPORT_FILE))
