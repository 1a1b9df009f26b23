# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From a module's parameters to a plan, and from the cluster to one: steps 1 to 7 of a recovery (``recovery``)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import StrEnum
from typing import Any

from .._documents.errors import DocumentError
from .._documents.report_file import ReportFile
from .._history.host_boots import describe_host_boots, read_host_boots
from .._history.outage import begin_to_find_outages
from .._history.reading import HistoryLimits
from .._history.unclean_elections import begin_to_count
from .._kafka.port import Kafka
from .._kafka.transactions import OpenTransaction
from .._kafka.wire import Wire
from .._model.partition import Broker, TopicPartition, racks_of
from .._model.reason import because, say
from .._model.run import Progress, RunMode, garbage_collection_paused, utc_now
from .._module.connection import connection_settings, controller_listeners
from .._module.options import progress_to
from .._module.run import call_all
from .._recorder.options import read_recordings
from .._spark.options import EngineUse
from .engines import Engines, describe_fallback
from .gather import Gathering, read_gathering_options
from .observation import plan_drops
from .offline_dirs import describe_lost
from .options import Wanted, read_wanted, refuse_existing_output
from .outcome import REPORT_FILE, outcomes_of_plan, prepare_report
from .plan import INTERNAL_NOTE, OPEN_TRANSACTION_NOTE, Plan
from .policies import PolicyOptions, add_tiered_topics, read_policies, read_policy_options
from .survey import Survey, survey, survey_when_fenced
from .waiting import Awaited, WaitLimits, read_wait_limits, wait_for_brokers

# What most runs do without is imported where it is needed.
# ruff: noqa: PLC0415


_HISTORY = HistoryLimits(max_seconds=10.0)
"""How much of the metadata log a plan may read. It has the time that the questions to the replicas take, and so long
again."""


class PlanForm(StrEnum):
    """In which form a module returns its plan."""

    DOCUMENT = "document"
    PUBLISHED = "published"
    DIGEST = "digest"


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and the brokers as they were found; none where no broker was contacted."""

    plan: Plan
    brokers: tuple[Broker, ...]
    _: KW_ONLY  # pylint: disable=disallowed-name
    awaited: tuple[Awaited, ...] = ()
    """Brokers that were waited for, or would be, the one to start first before the others."""
    notes: tuple[str, ...] = ()
    """What a person must know besides: brokers whose metadata was old."""
    digest: str = ""
    """The digest of the plan, as in its file."""
    doubtful: Mapping[str, int] = field(default_factory=lambda: {"led_by_silent": 0, "led_by_replaced": 0})
    """Numbers of partitions whose leader may be none, as ``Survey.count_doubtful`` returns them."""
    engine: EngineUse | None = None
    """The engine that ranked the replicas. None if there were none."""
    evidence: str | None = None
    """Where the answers of the replicas are stored. None if none were asked, or if they could not be stored."""
    returned: dict[str, Any] = field(default_factory=dict)
    """The plan in the form that was asked for, and why there is no report, by the names of the module's results."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What is looked at, how replicas are asked, and how a plan follows from their answers."""

    asked: Wanted
    policies: PolicyOptions
    how: Gathering
    limits: WaitLimits
    include_internal: bool
    may_drop: bool
    """Whether brokers that are not registered may be dropped from a replica set."""
    recordings: str | None = None
    """The directory or URI of a recorder."""
    metadata_log_dir: str | None = None
    """A log directory with a copy of the metadata log, for the history."""
    host_boots: Mapping[int, int] = field(default_factory=dict)
    """When hosts of brokers booted, in milliseconds of POSIX time."""
    fencing_wait_ms: int = 0
    """How long to wait while brokers that do not answer are leaders in the metadata."""
    counts_unclean_elections: bool = True
    """Whether the brokers have the unclean elections since they left. A run counts them after its own elections."""


def plan_options(params: Mapping[str, Any], *, waits: bool, carries_out: bool) -> PlanOptions:
    """Read the options of a plan. Opens no connection.

    ``waits`` is False for a run that only looks. ``carries_out`` says that it carries the plan out, if only to look.

    Raises KafkaOpsError with every problem.
    """
    asked, policies, how, limits, host_boots, recordings = call_all(
        lambda: read_wanted(params),
        lambda: read_policy_options(params),
        lambda: read_gathering_options(params),
        lambda: read_wait_limits(params, waits=waits),
        lambda: read_host_boots(params),
        lambda: None if params["recordings"] is None else read_recordings(params["recordings"]),
    )
    return PlanOptions(
        asked,
        policies,
        how,
        limits,
        include_internal=params["include_internal_topics"],
        may_drop=params["allow_dropping_unregistered"],
        recordings=recordings,
        metadata_log_dir=params["metadata_log_dir"],
        host_boots=host_boots,
        fencing_wait_ms=params["fencing_wait_ms"] if waits else 0,
        counts_unclean_elections=not carries_out,
    )


def make_plan(params: Mapping[str, Any]) -> Planned:
    """Plan from evidence or from the cluster, for a person to review, and write the files that were asked for.

    Raises KafkaOpsError; what can be refused without looking at the cluster is refused before that, all at once.
    """
    report, settings, controllers, options, *_checked = call_all(
        lambda: ReportFile(params["report_file"]),
        lambda: None if params["evidence"] else connection_settings(params),
        lambda: controller_listeners(params),
        lambda: plan_options(params, waits=False, carries_out=False),
        lambda: refuse_existing_output(params["plan_file"]),
    )
    progress = progress_to(params["progress_file"])
    if settings is None:
        planned = _from_evidence(params["evidence"], options, progress)
    else:
        with Wire(settings, controllers) as wire:
            planned = plan_of_cluster(Kafka(wire), options, progress)
    from .plan_file import plan_document, write_plan

    path = params["plan_file"]
    default = PlanForm.DOCUMENT if path is None else PlanForm.DIGEST
    document = plan_document(planned.plan) if path is None else write_plan(planned.plan, path)
    returned, found = _returned(document, params["return_plan"] or default), str(document["digest"])
    del document  # it may take a gigabyte, and the report takes as much
    cluster_id, outcomes = planned.plan.cluster_id, outcomes_of_plan(planned.plan)
    document_at = prepare_report(
        mode=RunMode.CHECK,
        cluster_id=cluster_id,
        brokers=planned.brokers,
        outcomes=outcomes,
        engine=planned.engine,
    )
    # A full disk must not hide what was found: the brokers may answer otherwise a minute later.
    if fault := report.write_or_explain(document_at, REPORT_FILE):
        returned |= {"report_fault": fault, "msg": fault}
    return replace(planned, digest=found, returned=returned)


def _from_evidence(path: str, options: PlanOptions, progress: Progress) -> Planned:
    from .evidence import read_evidence
    from .pipeline import plan_from_evidence

    evidence = read_evidence(path)
    policies = options.policies.same_for_all({each.topic for each in evidence.partitions})
    with Engines(options.how.engine) as engines:
        plan = plan_from_evidence(engines, evidence, policies, progress, include_internal=options.include_internal)
        return Planned(plan, (), notes=tuple(describe_fallback(engines.use)), engine=engines.use)


def plan_of_cluster(kafka: Kafka, options: PlanOptions, progress: Progress) -> Planned:
    """Survey the cluster, wait for brokers as far as the options say, ask the replicas and plan. Writes no plan file.

    Raises KafkaOpsError.
    """
    with Engines(options.how.engine) as engines:
        found = survey_when_fenced(
            lambda: survey(
                kafka,
                options.asked.partitions,
                include_internal=options.include_internal,
                lost=options.limits.lost,
                when_offline=engines.begin,
            ),
            options.fencing_wait_ms,
            kafka.clock,
            progress.step,
        )
        topics = {each.topic for each in found.offline}
        policies = read_policies(kafka, topics, options.policies, found.brokers) if topics else {}
        waited = wait_for_brokers(kafka, found, policies, options.limits, progress)
        found = add_tiered_topics(kafka, waited.survey)
        notes = (
            *kafka.notes_on_views(),
            *describe_lost(found.lost, found.brokers),
            *describe_host_boots(options.host_boots, found.brokers),
        )
        if not found.offline:
            plan = Plan(found.cluster_id, utc_now(), (), found.left_alone, racks_of(found.brokers))
            return Planned(plan, found.brokers, awaited=waited.awaited, notes=notes, doubtful=found.count_doubtful())
        from .pipeline import plan_from_survey

        # Beside the questions to the replicas, which take longer.
        counted_brokers = _begin_to_count(kafka, found, options)
        outages = begin_to_find_outages(
            kafka,
            found.offline,
            found.brokers,
            found.cluster_id,
            _HISTORY,
            log_dir=options.metadata_log_dir,
            host_boots=options.host_boots,
        )
        plan, collected = plan_from_survey(
            engines,
            kafka.settings,
            found,
            policies,
            options.how,
            progress,
            options.asked.leaders,
            outages,
            options.recordings,
            kafka.read_retentions(topics) if options.recordings is not None else {},
        )
        used = engines.use
    progress.step("looking for open transactions")
    plan = plan_drops(kafka, replace(plan, racks=racks_of(found.brokers)), may_drop=options.may_drop)
    plan = flagged(kafka, plan, {each.topic_partition for each in found.offline if each.is_internal})
    notes = (*notes, *collected.notes, *describe_fallback(used))
    return Planned(
        plan,
        counted_brokers(),
        awaited=waited.awaited,
        notes=notes,
        doubtful=found.count_doubtful(),
        engine=used,
        evidence=collected.place,
    )


def _begin_to_count(kafka: Kafka, found: Survey, options: PlanOptions) -> Callable[[], tuple[Broker, ...]]:
    """Begin to count unclean elections since brokers left, among all partitions, also those not wanted."""
    if not options.counts_unclean_elections:
        return lambda: found.brokers
    return begin_to_count(
        kafka, found.brokers, found.leaving_behind, found.cluster_id, log_dir=options.metadata_log_dir
    )


@garbage_collection_paused()
def flagged(kafka: Kafka, plan: Plan, internal: Collection[TopicPartition]) -> Plan:
    """Return the plan with these flags among its reasons. A follower reports open transactions as a leader does.

    Asked is the designated leader, and of a partition that is left alone the best ranked replica, if any answered.
    """
    notes: dict[TopicPartition, list[str]] = {each: [INTERNAL_NOTE] for each in internal}
    asked = [(each.topic_partition, each.designated_leader) for each in plan.elections]
    asked += [(each.topic_partition, best.broker_id) for each in plan.left_alone for best in each.candidates[:1]]
    found = kafka.ask_replicas(kafka.describe_cluster().addresses, asked, kafka.open_transactions)
    for each, leader in asked:
        notes.setdefault(each, []).extend(_of_transactions(leader, found.get((each, leader))))
    return replace(
        plan,
        elections=tuple(
            replace(each, notes=(*each.notes, *notes.get(each.topic_partition, ()))) for each in plan.elections
        ),
        left_alone=tuple(
            replace(each, reason=because(each.reason, *notes.get(each.topic_partition, ()))) for each in plan.left_alone
        ),
    )


def _of_transactions(leader: int, found: Sequence[OpenTransaction] | None) -> list[str]:
    if found is None:
        form = f"broker {{broker}} does not report whether {OPEN_TRANSACTION_NOTE}s are missing: unknown"
        return [say(form, broker=leader)]
    return [
        say(
            f"producer {{producer}} has a transaction open from offset {{start}} on: its {OPEN_TRANSACTION_NOTE} may "
            "be missing",
            producer=each.producer_id,
            start=each.start_offset,
        )
        for each in found
    ]


def _returned(document: dict[str, Any], form: str) -> dict[str, Any]:
    """Return the plan as a module returns it, under the name of that form, or why it does not."""
    from .plan_file import pack

    if form != PlanForm.PUBLISHED:
        return {"plan": document} if form == PlanForm.DOCUMENT else {}
    try:
        return {"published_plan": pack(document)}
    except DocumentError as error:
        return {"publish_fault": str(error)}
