# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read what planned elections depend on: registered brokers, and partitions and logs right before the writes.

The controller refuses every new order that names an unregistered broker. Since Kafka 4.0, DescribeCluster lists every
registered broker. In older versions, a broker that it does not list is fenced or unregistered: to find out, the
controller is asked to validate the creation of a topic on it, which creates nothing (CreateTopics, validate_only).

One batch of elections is small, so this needs no Spark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace

from .._changes.run_topic import RUN_TOPIC
from .._kafka.cluster import Cluster, Registration
from .._kafka.errors import BrokerCallError, CallError, RequestRefusedError
from .._kafka.port import Kafka
from .._kafka.reassignments import parse_unregistered_broker
from .._model.partition import EpochEnd, PartitionState, Reassignment, ReplicaLog, TopicPartition
from .._model.reason import because, say
from .._model.run import looks
from .plan import ElectionType, LeftAlone, Plan, PlannedElection, Status, leave_alone
from .preconditions import (
    PartitionObservation,
    explain_drop,
    explain_reassignment,
    find_dropped,
    find_election_order,
    find_registration_obstacles,
)
from .silences import Silences


@dataclass(frozen=True, slots=True)
class Registry:
    """Which brokers of replica lists are not registered."""

    unregistered: frozenset[int] = frozenset()
    unknown: Mapping[int, str] = field(default_factory=dict)
    """Brokers of which this could not be found out, with the reason."""


def find_unregistered(kafka: Kafka, cluster: Cluster, mentioned: Collection[int]) -> Registry:
    """Find out which of the mentioned brokers are not registered. Sends no request if the cluster lists all brokers.

    The validated CreateTopics request names ``RUN_TOPIC``. Our principal needs CREATE on it.
    """
    missing = {*mentioned} - {each.broker_id for each in cluster.registrations}
    if cluster.lists_fenced or not missing:
        return Registry(frozenset(missing))
    living = next(iter(cluster.living().items()), None)
    found: set[int] = set()
    unknown: dict[int, str] = {}
    for broker_id in sorted(missing):
        if living is None:
            unknown[broker_id] = "no broker is registered that could be asked"
            continue
        try:
            kafka.check_topic_creation(living[1], RUN_TOPIC, [broker_id, living[0]], {})
        except RequestRefusedError as error:
            if parse_unregistered_broker(str(error)) == broker_id:
                found.add(broker_id)
            else:
                unknown[broker_id] = str(error)
        except BrokerCallError as error:
            unknown[broker_id] = str(error)
    return Registry(frozenset(found), unknown)


def plan_drops(kafka: Kafka, plan: Plan, *, may_drop: bool) -> Plan:
    """Return the plan with the running reassignments, and the unregistered brokers that its new orders drop.

    A partition that needs no new order drops nothing. Without ``may_drop``, partitions that would drop a broker are
    left alone.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    cluster = kafka.describe_cluster()
    listed = {each.broker_id for each in cluster.registrations}
    concerned = [each for each in plan.elections if _names_unlisted(listed, each)]
    running = kafka.running_reassignments([each.topic_partition for each in plan.elections])
    if not concerned and not running:
        return plan
    registry = find_unregistered(kafka, cluster, {broker for each in concerned for broker in each.replicas})
    elections, alone = [], [*plan.left_alone]
    for election in plan.elections:
        planned: PlannedElection | LeftAlone = election
        how = running.get(election.topic_partition)
        if how is not None and not (how.dropping and {*how.dropping} <= registry.unregistered):
            planned = _plan_during_reassignment(election, registry, how)
        elif _names_unlisted(listed, election):
            planned = _plan_drop(election, registry, running.get(election.topic_partition), may_drop=may_drop)
        if isinstance(planned, LeftAlone):
            alone.append(planned)
        else:
            elections.append(planned)
    return replace(
        plan,
        elections=tuple(elections),
        left_alone=tuple(sorted(alone, key=lambda each: each.topic_partition)),
    )


def _plan_during_reassignment(
    election: PlannedElection, registry: Registry, running: Reassignment
) -> PlannedElection | LeftAlone:
    """Return the election with the running reassignment, or refuse it if the controller would refuse its order."""
    planned = replace(election, adding=tuple(sorted(running.adding)), removing=tuple(sorted(running.removing)))
    observation = PartitionObservation(
        election.state, {}, unregistered=registry.unregistered, reassignment=planned.reassignment
    )
    if obstacles := [*find_registration_obstacles(planned, observation)]:
        alone = leave_alone(election.state, Status.REFUSED, because(*obstacles))
        return replace(alone, candidates=election.candidates, silent=election.silent, losses=election.losses)
    return replace(planned, notes=(*election.notes, explain_reassignment(planned)))


def _names_unlisted(listed: Collection[int], election: PlannedElection) -> bool:
    return election.election_type is ElectionType.UNCLEAN and bool({*election.replicas} - {*listed})


def _plan_drop(
    election: PlannedElection,
    registry: Registry,
    running: Reassignment | None,
    *,
    may_drop: bool,
) -> PlannedElection | LeftAlone:
    state = election.state
    observation = PartitionObservation(
        state,
        {},
        unregistered=registry.unregistered,
        reassignment=running,
    )
    with_drops = replace(
        election, dropped=tuple(sorted({*registry.unregistered, *observation.removing} & {*state.replicas}))
    )
    dropped = find_dropped(with_drops, observation)
    unknown = [each for each in state.replicas if each in registry.unknown]
    if not dropped and find_election_order(election, state, registry.unregistered) == state.replicas:
        return election
    if dropped and not may_drop:
        alone = leave_alone(state, Status.REFUSED, because(*find_registration_obstacles(election, observation)))
        return replace(alone, candidates=election.candidates, silent=election.silent, losses=election.losses)
    notes = [*election.notes]
    if dropped:
        notes.append(explain_drop(dropped))
    if unknown:
        notes.append(
            say(
                "whether {brokers} of its replicas is registered is not known ({why}): if not, the controller refuses "
                "the new order",
                brokers=unknown,
                why=registry.unknown[unknown[0]],
            )
        )
        dropped = tuple(sorted({*dropped, *(unknown if may_drop else ())}))
    return replace(election, notes=tuple(notes), dropped=dropped)


_MOST_THREADS = 64
_PARTITIONS_PER_LIMIT = 250


def observe_partitions(
    kafka: Kafka,
    cluster: Cluster,
    elections: Sequence[PlannedElection],
    *,
    asks_controller: bool = False,
    silences: Silences | None = None,
) -> dict[TopicPartition, PartitionObservation]:
    """Return the current metadata, running reassignments and replica logs of the elections' partitions.

    If the cluster does not list all brokers, ``asks_controller`` asks the controller which ones are registered. A run
    that elects does not need this: the controller refuses its first order.

    All brokers are asked at the same time. Each gets one request_timeout_ms, plus one for every 250 partitions of the
    batch. A broker that the elections can do without is asked once, and if ``silences`` has it, not at all: its
    replicas are silent as before. Only values that ``judge_election`` compares are asked:

    - of a candidate in the plan, whether its log still ends with the same epoch at the same offset,
    - of a designated leader that was not compared, the newest epoch,
    - of a replica that was silent in the plan, and of all replicas of a bare designation, everything that a gather
      asks,
    - of other replicas, nothing.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    partitions = [each.topic_partition for each in elections]
    states = kafka.read_partition_states(partitions).states
    reassigning = kafka.running_reassignments(partitions)
    logs = _read_logs(kafka, cluster, elections, Silences() if silences is None else silences)
    mentioned = {broker_id for state in states.values() for broker_id in state.replicas}
    unregistered = (
        find_unregistered(kafka, cluster, mentioned).unregistered
        if cluster.lists_fenced or asks_controller
        else frozenset()
    )
    return {
        each: PartitionObservation(
            states.get(each),
            logs.get(each, {}),
            unregistered=unregistered,
            reassignment=reassigning.get(each),
        )
        for each in partitions
    }


def has_taken_over(
    kafka: Kafka, election: PlannedElection, observation: PartitionObservation, state: PartitionState
) -> bool:
    """Return whether the present leader holds all that the designated leader held at the last look.

    False if the leader does not answer.
    """
    designated = observation.logs.get(election.designated_leader)
    brokers = {each.broker_id: each.as_broker() for each in kafka.describe_cluster().registrations}
    leader = brokers.get(state.leader_id)
    if designated is None or not designated.answered or leader is None:
        return False
    deadline = kafka.clock.monotonic() + kafka.settings.request_timeout_ms / 1000
    partitions = (election.topic_partition,)
    (log,) = kafka.probe_replicas(leader, partitions, deadline, checked=partitions)
    if not log.answered:
        return False
    ends = dict(log.lineage)
    newest = designated.last_written_epoch
    return newest is None or ends.get(newest, -1) >= (designated.log_end_offset or 0)


@dataclass(frozen=True, slots=True)
class _Questions:
    """What one broker is asked."""

    partitions: list[TopicPartition] = field(default_factory=list)
    only_newest: dict[TopicPartition, EpochEnd | None] = field(default_factory=dict)
    """The broker is only asked for the newest epoch of these partitions. The value is the one that the plan expects."""
    checked: set[TopicPartition] = field(default_factory=set)
    """Partitions whose epochs are compared with the headers of batches, because the plan has not done so."""
    needed: set[TopicPartition] = field(default_factory=set)
    """Partitions that are not elected, or not compared as in the plan, if the broker does not answer."""


def _collect_questions(elections: Iterable[PlannedElection]) -> dict[int, _Questions]:
    """Return the questions for each broker, by id."""
    questions: dict[int, _Questions] = defaultdict(_Questions)
    for election in elections:
        partition = election.topic_partition
        if election.is_bare:
            for broker_id in election.replicas:
                questions[broker_id].partitions.append(partition)
            questions[election.designated_leader].needed.add(partition)
            continue
        compared = {each.broker_id: each.lineage[-1] if each.lineage else None for each in election.candidates}
        compared.setdefault(election.designated_leader, None)
        silent = {each.broker_id for each in election.silent}
        for broker_id in election.replicas:
            if broker_id in silent or broker_id in compared:
                questions[broker_id].partitions.append(partition)
            if broker_id in silent:
                questions[broker_id].checked.add(partition)
            if broker_id in compared and broker_id not in silent:
                questions[broker_id].only_newest[partition] = compared[broker_id]
                questions[broker_id].needed.add(partition)
    return questions


def _read_logs(
    kafka: Kafka, cluster: Cluster, elections: Sequence[PlannedElection], silences: Silences
) -> dict[TopicPartition, dict[int, ReplicaLog]]:
    questions = _collect_questions(elections)
    brokers = [each for each in cluster.registrations if each.broker_id in questions]
    silences.forget_changed(cluster.registrations, kafka.clock.monotonic())
    limit_s = kafka.settings.request_timeout_ms / 1000 * (1 + len(elections) / _PARTITIONS_PER_LIMIT)
    deadline = kafka.clock.monotonic() + limit_s
    logs: dict[TopicPartition, dict[int, ReplicaLog]] = {}
    if not brokers:
        return logs

    def ask(registration: Registration) -> list[ReplicaLog]:
        asked = questions[registration.broker_id]
        known = silences.rows(registration.broker_id, asked.partitions)
        if known is not None:
            return known
        began = kafka.clock.monotonic()
        rows = kafka.probe_replicas(
            registration.as_broker(),
            asked.partitions,
            deadline,
            only_newest=asked.only_newest,
            checked=asked.checked,
            is_retried=bool(asked.needed),
        )
        silences.remember(registration, rows, began=began, ended=kafka.clock.monotonic())
        return rows

    with ThreadPoolExecutor(max_workers=min(len(brokers), _MOST_THREADS)) as executor:
        for rows in executor.map(ask, brokers):
            for row in rows:
                logs.setdefault(row.topic_partition, {})[row.broker_id] = row
    return logs


def read_until(
    kafka: Kafka,
    partitions: Collection[TopicPartition],
    seconds: float,
    is_done: Callable[[PartitionState], bool] = lambda _state: True,
) -> dict[TopicPartition, PartitionState]:
    """Read partitions until all are done or the time is over, and return their last states; none if no read succeeds.

    A failed read is tried again.
    """
    seen: dict[TopicPartition, PartitionState] = {}
    for _look in looks(kafka.clock, seconds) if partitions else ():
        with suppress(CallError):
            seen = kafka.read_partition_states(partitions).states
            if all(each in seen and is_done(seen[each]) for each in partitions):
                break
    return seen
