# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Collect evidence from the replicas of offline partitions, and plan from evidence.

Imported only if a partition is offline.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .._kafka.header_reading import AskBatches
from .._kafka.native import NativeSource
from .._kafka.private_files import temporary_settings_reference
from .._kafka.settings import ConnectionSettings
from .._model.outage import LastSeen, Outage, led_alone
from .._model.partition import PartitionState, TopicPartition
from .._model.reason import ClauseKind, as_kind, because
from .._model.reasons import plural
from .._model.retention import Retention
from .._model.run import VERSION, Progress, garbage_collection_paused, utc_now
from .._recorder.names import RecordingError
from .._recorder.reading import FoundRecordings, find_last_seen
from .._spark.java import SparkUnavailableError
from .._spark.options import is_uri
from .candidate import explain_reused_epochs
from .decide import decide
from .engines import Engines
from .evidence import (
    Evidence,
    EvidenceError,
    default_evidence_dir,
    write_evidence,
    write_evidence_to_uri,
)
from .gather import Engine, Gathering, gather
from .options import Designations
from .plan import INTERNAL_NOTE, LeftAlone, Plan, PlannedElection
from .probe_task import AskReplicas
from .recorded import add_recordings
from .reused_epochs import ask_candidates
from .strategy import Policy
from .survey import Survey, leave_internal_alone

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa

    from .epoch_check import AskAgain, check_epochs, find_silent_brokers, rank_checked
    from .rows import find_rebuilt


if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Collected:
    """The answers of a gather, and where they are stored."""

    evidence: Evidence
    place: str | None
    """The directory or URI. None if they could not be stored."""
    notes: tuple[str, ...] = ()
    """What was not checked, and why they are not stored where they should be."""


def collect_evidence(
    engines: Engines,
    settings: ConnectionSettings,
    found: Survey,
    how: Gathering,
    progress: Progress,
) -> Collected:
    """Ask the replicas of all offline partitions, and store their answers."""
    progress.step(f"asking the replicas of {plural(len(found.offline), 'partition')}")
    evidence, notes = gather_evidence(
        engines,
        settings,
        found,
        how.duration_ms,
        native=how.native,
        settings_reference=how.settings_reference,
    )
    stored = store_evidence(engines, evidence, how.evidence_dir)
    return replace(stored, notes=(*notes, *stored.notes))


def store_evidence(engines: Engines, evidence: Evidence, root: str | None) -> Collected:
    """Store evidence where the operator wants it, or else in the state directory. A full disk costs no recovery."""
    notes: list[str] = []
    for place in filter(None, (root, default_evidence_dir())):
        try:
            if is_uri(place):
                return Collected(evidence, write_evidence_to_uri(evidence, place, engines.write_parquet), tuple(notes))
            return Collected(evidence, str(write_evidence(evidence, place)), tuple(notes))
        except (EvidenceError, SparkUnavailableError) as error:
            notes.append(f"the evidence is not in {place}: {error}")
    return Collected(evidence, None, tuple(notes))


def gather_evidence(
    engine: Engine,
    settings: ConnectionSettings,
    found: Survey,
    duration_ms: int,
    *,
    native: NativeSource | None = None,
    settings_reference: str | None = None,
) -> tuple[Evidence, tuple[str, ...]]:
    """Return the answers of the offline partitions' replicas within ``duration_ms``, with a row for silent ones too.

    Also return notes on epochs that could not be checked.

    ``native`` is the operator's RPC for log ends. ``settings_reference`` is the path of a file with the connection
    settings on every executor's host. On this host, also if Spark fails, a temporary file is used.
    """
    topic_ids = {each.topic: each.topic_id for each in found.offline} if native is not None else {}
    key = None if native is None else native.api_key
    ask = AskReplicas(dict(found.tiered), key, topic_ids, lost=found.lost, cluster_id=found.cluster_id)
    gathered_at = utc_now()
    with temporary_settings_reference(settings) as reference:
        gather_by = partial(gather, engine, reference, found.brokers, elsewhere=settings_reference)
        ends_at = time.monotonic() + duration_ms / 1000
        replica_logs = gather_by(found.offline, duration_ms, ask=ask)
        check = replace(ask, checks_epochs=True)

        silent = find_silent_brokers(replica_logs)

        def ask_again(ask: AskReplicas, states: Sequence[PartitionState]) -> pa.Table:
            left_ms = max(int((ends_at - time.monotonic()) * 1000), duration_ms // 3)
            return gather_by(states, left_ms, ask=ask, without=silent)

        again = AskAgain(partial(ask_again, check), partial(ask_again, replace(check, only_newest=True)))
        replica_logs, notes = check_epochs(replica_logs, found.offline, again)
    return Evidence(found.cluster_id, gathered_at, VERSION, replica_logs, found.offline), notes


def plan_from_survey(  # noqa: PLR0917
    engines: Engines,
    settings: ConnectionSettings,
    found: Survey,
    policies: Mapping[str, Policy],
    how: Gathering,
    progress: Progress,
    leaders: Designations,
    find_outages: Callable[[], Mapping[TopicPartition, Outage]] = dict,
    recordings: str | None = None,
    retentions: Mapping[str, Retention] = MappingProxyType({}),
) -> tuple[Plan, Collected]:
    """Ask the replicas of all offline partitions, rank them and plan. ``leaders`` are those that a person chose.

    ``find_outages`` waits for what is known besides the logs, which is asked for meanwhile. ``recordings`` is the path
    or URI of a recorder, and ``retentions`` that of each topic for what was recorded.
    """
    collected = collect_evidence(engines, settings, found, how, progress)
    progress.step("ranking replicas")
    outages = find_outages()
    recorded = _find_recorded(engines, recordings, collected.evidence)
    collected = replace(collected, notes=(*collected.notes, *_name_missing(outages.values()), *recorded.notes))
    plan = plan_recovery(
        engines,
        collected.evidence,
        policies,
        found.left_alone,
        leaders,
        outages=outages,
        seen=recorded.seen,
        retentions=retentions,
        ask=partial(ask_candidates, settings, found.cluster_id, found.brokers),
    )
    return plan, collected


def _name_missing(outages: Collection[Outage]) -> Iterator[str]:
    """Name what is missing of the partitions' history: once, and not for each partition whose loss is unknown."""
    missing = dict.fromkeys(text for each in outages for text in each.history.missing)
    if missing:
        yield f"what the last leaders took alone is unknown, or known in part: {'; '.join(missing)}"


def _find_recorded(engines: Engines, place: str | None, evidence: Evidence) -> FoundRecordings:
    if place is None:
        return FoundRecordings({})
    partitions = [each.topic_partition for each in evidence.partitions]

    def on_spark(work: Callable[[SparkSession], pa.Table]) -> pa.Table:
        try:
            return engines.read(work)
        except SparkUnavailableError as error:
            raise RecordingError(f"the recordings in {place} cannot be read without Spark: {error}") from None

    return find_last_seen(place, evidence.cluster_id, partitions, on_spark)


def plan_from_evidence(
    engines: Engines,
    evidence: Evidence,
    policies: Mapping[str, Policy],
    progress: Progress,
    *,
    include_internal: bool,
) -> Plan:
    """Rank the replicas of stored evidence, and plan. Internal topics are left alone unless ``include_internal``."""
    engines.begin(evidence.replica_logs.num_rows)
    progress.step("ranking replicas")
    internal = [each for each in evidence.partitions if each.is_internal]
    if include_internal:
        plan = plan_recovery(engines, evidence, policies)
        named = {each.topic_partition for each in internal}
        return replace(
            plan,
            elections=tuple(
                replace(each, notes=(*each.notes, INTERNAL_NOTE)) if each.topic_partition in named else each
                for each in plan.elections
            ),
        )
    others = tuple(each for each in evidence.partitions if not each.is_internal)
    return plan_recovery(
        engines, replace(evidence, partitions=others), policies, [*map(leave_internal_alone, internal)]
    )


def _with_notes(decision: PlannedElection | LeftAlone, notes: Sequence[str]) -> PlannedElection | LeftAlone:
    if not notes:
        return decision
    if isinstance(decision, LeftAlone):
        return replace(decision, reason=because(decision.reason, *notes))
    return replace(decision, notes=(*decision.notes, *notes))


def _note_on_epochs(
    decision: PlannedElection | LeftAlone, rebuilt: Collection[tuple[TopicPartition, int]]
) -> Iterator[str]:
    """Yield what to do before the election of a replica whose own epochs are not those of its batches."""
    if isinstance(decision, PlannedElection) and (decision.topic_partition, decision.designated_leader) in rebuilt:
        yield (
            f"the leader-epoch-checkpoint of broker {decision.designated_leader} is lost or too old: once it leads, a "
            "follower may keep a hole or other records, and join the ISR. Before the election, let it write the file "
            "again: stop it, remove .kafka_cleanshutdown and recovery-point-offset-checkpoint from its log directory, "
            "and start it"
        )


def _with_history(decision: PlannedElection | LeftAlone, outage: Outage | None) -> PlannedElection | LeftAlone:
    """Return the decision with what happened to the partition before, and since when its last leader led alone."""
    if outage is None:
        return decision
    note = as_kind(ClauseKind.LOSS, led_alone([outage.history]))
    if isinstance(decision, LeftAlone):
        return replace(decision, history=outage.history, reason=because(decision.reason, note))
    return replace(decision, history=outage.history, notes=(*decision.notes, *filter(None, [note])))


@garbage_collection_paused()
def plan_recovery(
    engine: Engine,
    evidence: Evidence,
    policies: Mapping[str, Policy],
    left_alone: Sequence[LeftAlone] = (),
    leaders: Mapping[TopicPartition, int] = MappingProxyType({}),
    *,
    outages: Mapping[TopicPartition, Outage] = MappingProxyType({}),
    seen: Mapping[TopicPartition, Mapping[int, LastSeen]] = MappingProxyType({}),
    retentions: Mapping[str, Retention] = MappingProxyType({}),
    ask: AskBatches | None = None,
) -> Plan:
    """Return a plan for all partitions of the evidence, each by the policy of its topic.

    ``left_alone`` are further partitions for the plan. ``leaders`` are those that a person chose for some partitions.
    ``outages`` is what is known besides the logs, and ``seen`` what replicas held when they were recorded last.
    ``retentions`` is by topic: what a leader may have deleted since then is not lost. ``ask`` reads batches of the
    replicas. Without it, and of very many replicas, epochs that were given to two leaders are only found right before
    the election.
    """
    now_ms = round(time.time() * 1000)
    replicas, unread = rank_checked(engine, evidence.replica_logs, ask)
    rebuilt = find_rebuilt(evidence.replica_logs)
    decisions: list[PlannedElection | LeftAlone] = []
    for state in evidence.partitions:
        # A partition without replicas has no rows.
        judged = replicas.get(state.topic_partition)
        candidates, silent, compared = judged[1:] if judged else ((), (), None)
        chosen = leaders.get(state.topic_partition)
        outage = outages.get(state.topic_partition)
        of_partition = seen.get(state.topic_partition, {})
        recorded = add_recordings(
            state, candidates, silent, of_partition, outage, retention=retentions.get(state.topic), now_ms=now_ms
        )
        policy = policies[state.topic]
        decision = decide(state, candidates, silent, policy, chosen, pasts=recorded.pasts, compared=compared)
        notes = (*recorded.notes, *_note_on_epochs(decision, rebuilt), *explain_reused_epochs(candidates))
        if isinstance(decision, PlannedElection) and state.topic_partition in unread:
            decision = replace(decision, has_unread_batches=True)
        decisions.append(_with_history(_with_notes(decision, notes), outage))
    elections = [each for each in decisions if isinstance(each, PlannedElection)]
    others = [*left_alone, *(each for each in decisions if isinstance(each, LeftAlone))]
    return Plan(
        cluster_id=evidence.cluster_id,
        created_at=utc_now(),
        elections=tuple(sorted(elections, key=lambda each: each.topic_partition)),
        left_alone=tuple(sorted(others, key=lambda each: each.topic_partition)),
    )


def summarize_rows(engine: Engine, replica_logs: pa.Table, max_rows: int) -> dict[str, Any]:
    """Return the results ``rows`` (at most ``max_rows``), ``truncated`` and ``summary`` of a module."""
    order = [(name, "ascending") for name in ("topic", "partition", "place")]
    return {
        "rows": replica_logs.sort_by(order).slice(0, max_rows).to_pylist(),
        "truncated": replica_logs.num_rows > max_rows,
        "summary": engine.summarize(replica_logs),
    }
