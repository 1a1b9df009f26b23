# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask the cluster whether brokers may stop. Sends no write request.

1. Read the brokers, the partitions, their settings, the running reassignments and the quorum. If a broker that does not
   answer would be the next leader, wait until the controller has fenced it.
2. Predict each stop from the partitions, which are of one broker's answer.
3. Compare the log ends of the leaders that would stop with those of the next leaders. Ask the next leaders whether
   they apply metadata late.
4. Read the partitions again: if the next leaders are others by now, start again.
5. Read the tickets of others (``taking`` takes them).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from .._changes.record import JournalError
from .._changes.stop_tickets import parse_tickets, split_by_time, ticket_store
from .._history.replaced_leaders import find_replaced_leaders
from .._history.unclean_elections import begin_to_count
from .._kafka.cluster import Cluster
from .._kafka.held_replicas import known_offsets
from .._kafka.hidden_topics import find_hidden_topics
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import Broker, PartitionState, TopicPartition, racks_of
from .._model.reasons import join_first, name_partitions, plural
from .._model.run import looks
from .._model.silent_leaders import wait_for_fencing
from .._model.stop_prediction import ClusterView, Prediction, StopReasonKind, predict_stop
from .._model.stop_ticket import TICKET_TOPIC, StopTicket
from .._quorum.observation import Observation, caught_up_voters
from .._quorum.observe import observe_quorum
from .._quorum.verdict import may_stop
from .advice import Bears, plan_waves
from .gate import (
    Answer,
    Gate,
    Led,
    Stop,
    StopReason,
    notes_about,
    reason,
    reasons_of,
    smallest_changes,
    ticket_reason,
    worst_first,
)
from .question import Question
from .unclean import UncleanConfigs, read_unclean

_FENCING_MS = 15_000
"""How long to wait for the controller. The default of broker.session.timeout.ms is 9 s."""
_ROUNDS = 3
_CATCH_UP_S = 1.5
"""How long the next leaders may take to get the records that the leaders had."""


@dataclass(frozen=True, slots=True)
class LogEnds:
    """What the comparison of log ends found."""

    missing: Mapping[TopicPartition, int]
    """How many records that the leader had the next leader still lacks."""
    unread: tuple[TopicPartition, ...]


def check_stop(kafka: Kafka, question: Question, owner: str = "", leave_out: str = "") -> Gate:
    """Answer the question.

    ``owner`` is who asks, if a name was given: a ticket of this owner for the same brokers is no reason against their
    stop. ``leave_out`` is a topic to ignore: that of the lock, which is deleted before the brokers stop.

    Raises NoBrokerAnswersError, BrokerCallError or RequestRefusedError if the cluster cannot be read.
    """
    cluster, states, known = _look_after_fencing(kafka, question, leave_out)
    view, unclean = _read_settings(kafka, states, cluster, known)
    observation = observe_quorum(kafka.wire)
    sets, unknown_racks = resolve(question, view.brokers)
    together = tuple(sorted({each for some in sets for each in some}))

    ends, new_leaders = LogEnds({}, ()), _new_leaders(view, sets)
    for _round in range(_ROUNDS):
        ends = _compare_log_ends(kafka, cluster, view, new_leaders)
        view = replace(view, states=_describe(kafka, leave_out))
        before, new_leaders = new_leaders, _new_leaders(view, sets)
        if new_leaders == before:
            break
    else:
        ends = replace(ends, unread=tuple(sorted({each for some in new_leaders.values() for each in some})))
    next_leaders = {each for found in new_leaders.values() for each in found.values()}
    late = kafka.find_late({each: cluster.addresses[each] for each in sorted(next_leaders)})
    # Whoever takes a ticket adds copies to this topic, and that must not be a reason against the stop.
    names = [each.topic_partition for each in view.states if each.topic != TICKET_TOPIC]
    view = replace(view, reassignments=kafka.running_reassignments(names))

    tickets, expired, unknown_tickets = _read_tickets(kafka, cluster.living(view.brokers))
    everywhere = [*unknown_racks, *unread(kafka, cluster, view, together), *unknown_tickets]
    stops, reasons = [], []
    leaderless: list[PartitionState] = []
    for brokers in sets:
        prediction = predict_stop(view, brokers)
        leaderless += prediction.of(StopReasonKind.NO_LEADER)
        against = [
            *(replace(each, brokers=brokers) for each in everywhere),
            *_unknown_brokers(brokers, view.brokers),
            *reasons_of(prediction, brokers),
            *_no_broker_left(view, brokers),
            *_about_log_ends(brokers, prediction, ends),
            *_about_late(brokers, prediction, late),
            *(ticket_reason(brokers, each) for each in tickets if not is_renewal(each, owner, brokers)),
            *(
                reason(StopReasonKind.QUORUM, brokers, text, "See playbook kafkaops.recovery.check_quorum")
                for text in may_stop(observation, brokers).reasons
            ),
        ]
        reasons += against
        stops.append(_stop(view, brokers, prediction, observation, is_allowed=not against))
    if not sets:
        reasons += everywhere
    leader = observation.state.leader_id if observation.state is not None else None
    waves, in_no_wave = plan_waves(view, _bears(view, observation), [] if leader is None else [leader])
    return Gate(
        cluster_id=cluster.cluster_id,
        verdict=Answer.NO if reasons or not sets else Answer.YES,
        stops=tuple(stops),
        racks=racks_of(view.brokers),
        reasons=worst_first(reasons),
        notes=(*notes_about(view), *unclean.doubt(leaderless), *expired, *kafka.notes_on_views()),
        waves=waves,
        in_no_wave=in_no_wave,
        tickets=tickets,
    )


def _look_after_fencing(
    kafka: Kafka, question: Question, leave_out: str
) -> tuple[Cluster, tuple[PartitionState, ...], tuple[Broker, ...]]:
    """Return the cluster, once the controller has fenced the brokers that do not answer and would be next leaders.

    It fences a dead one within broker.session.timeout.ms. One that stays may be elected.
    """

    def look() -> tuple[Cluster, tuple[PartitionState, ...], tuple[Broker, ...]]:
        cluster = kafka.describe_cluster()
        states = _describe(kafka, leave_out)
        mentioned = frozenset(broker_id for each in states for broker_id in each.replicas)
        return cluster, states, kafka.probe_brokers(cluster, mentioned)

    def in_doubt(found: tuple[Cluster, tuple[PartitionState, ...], tuple[Broker, ...]]) -> Sequence[object]:
        _cluster, states, brokers = found
        view = ClusterView(states=states, brokers=brokers, min_isr={}, unclean={})
        sets = resolve(question, brokers)[0] if view.unanswered else []
        return [each for some in sets for each in predict_stop(view, some).of(StopReasonKind.SILENT_LEADER)]

    return wait_for_fencing(look, in_doubt, _FENCING_MS, kafka.clock, str)


def _describe(kafka: Kafka, leave_out: str) -> tuple[PartitionState, ...]:
    return tuple(each for each in kafka.describe_partitions().partitions if each.topic != leave_out)


def is_renewal(ticket: StopTicket, owner: str, brokers: Sequence[int]) -> bool:
    """Return whether a ticket is that of an owner who was named, for the same brokers."""
    return bool(owner) and ticket.owner == owner and ticket.brokers == tuple(brokers)


def _read_tickets(
    kafka: Kafka, living: Mapping[int, Address]
) -> tuple[tuple[StopTicket, ...], list[str], list[StopReason]]:
    """Return the valid tickets, notes about expired ones, and why the tickets are not known."""
    try:
        found = parse_tickets(ticket_store(kafka, living).peek())
    except JournalError as error:
        text = f"whether somebody else is stopping brokers is unknown: {error}"
        return (), [], [reason(StopReasonKind.UNKNOWN, (), text, f"Make topic {TICKET_TOPIC} readable")]
    valid, expired = split_by_time(kafka, found)
    return valid, [f"{each}: this has expired, so its owner counts as dead" for each in expired], []


def _read_settings(
    kafka: Kafka, states: tuple[PartitionState, ...], cluster: Cluster, brokers: tuple[Broker, ...]
) -> tuple[ClusterView, UncleanConfigs]:
    names = sorted({each.topic for each in states})
    counted_brokers = begin_to_count(kafka, brokers, states, cluster.cluster_id)
    unclean = read_unclean(kafka, names)
    view = ClusterView(
        states=states,
        min_isr=kafka.min_insync_replicas(names, cluster.online(brokers)),
        unclean=unclean.values,
        replaced=find_replaced_leaders(kafka, states, brokers),
        brokers=counted_brokers(),
    )
    return view, unclean


def resolve(question: Question, brokers: Sequence[Broker]) -> tuple[list[tuple[int, ...]], list[StopReason]]:
    """Return the sets of brokers, and reasons about racks without brokers."""
    sets = [*question.sets]
    known = {each.rack for each in brokers}
    missing = [each for each in question.racks if each not in known]
    of_racks = tuple(each.broker_id for each in brokers if each.rack in question.racks)
    if of_racks:
        sets.append(of_racks)
    names = join_first(sorted(filter(None, known))) or "none: broker.rack is not set"
    text = f"no broker is in rack {join_first(missing)}; the racks are {names}"
    refused = [reason(StopReasonKind.NO_SUCH_BROKER, (), text, "Name racks of the cluster")] if missing else []
    return sets, refused


def _unknown_brokers(brokers: Sequence[int], known: Sequence[Broker]) -> list[StopReason]:
    ids = [each.broker_id for each in known]
    missing = [each for each in brokers if each not in ids]
    if not missing:
        return []
    text = f"the cluster has no broker {join_first(missing)}; its brokers are {join_first(ids, 20)}"
    return [reason(StopReasonKind.NO_SUCH_BROKER, brokers, text, "Name brokers of the cluster")]


def _bears(view: ClusterView, observation: Observation) -> Bears:
    return lambda stopped: view.keeps_a_broker(stopped) and may_stop(observation, stopped).allowed


def _no_broker_left(view: ClusterView, brokers: Sequence[int]) -> list[StopReason]:
    if view.keeps_a_broker(brokers):
        return []
    text = "no broker would stay up, so no client could reach the cluster"
    return [reason(StopReasonKind.NO_BROKER_LEFT, brokers, text, "Keep at least one broker up")]


def _new_leaders(
    view: ClusterView, sets: Iterable[tuple[int, ...]]
) -> dict[tuple[int, ...], Mapping[TopicPartition, int]]:
    return {brokers: predict_stop(view, brokers).new_leaders for brokers in sets}


def _compare_log_ends(
    kafka: Kafka,
    cluster: Cluster,
    view: ClusterView,
    new_leaders: Mapping[tuple[int, ...], Mapping[TopicPartition, int]],
) -> LogEnds:
    """Read the leaders' log ends first. A next leader that has as many records some time later lacks none of them."""
    pairs = {(partition, broker_id) for found in new_leaders.values() for partition, broker_id in found.items()}
    if not pairs:
        return LogEnds({}, ())
    leaders = {each.topic_partition: each.leader_id for each in view.states}
    wanted = _read_log_ends(kafka, cluster, {(partition, leaders[partition]) for partition, _next in pairs})
    found: dict[tuple[TopicPartition, int], int] = {}
    behind = {*pairs}
    for _look in looks(kafka.clock, _CATCH_UP_S):
        found |= _read_log_ends(kafka, cluster, behind)
        behind = {
            pair
            for pair in pairs
            if (pair[0], leaders[pair[0]]) in wanted
            and (pair not in found or found[pair] < wanted[pair[0], leaders[pair[0]]])
        }
        if not behind:
            break
    missing: dict[TopicPartition, int] = {}
    for partition, broker_id in behind:
        if (partition, broker_id) in found:
            lacks = wanted[partition, leaders[partition]] - found[partition, broker_id]
            missing[partition] = max(lacks, missing.get(partition, 0))
    unread = {
        partition
        for partition, broker_id in pairs
        if (partition, leaders[partition]) not in wanted or (partition, broker_id) not in found
    }
    return LogEnds(missing, tuple(sorted(unread)))


def _read_log_ends(
    kafka: Kafka, cluster: Cluster, replicas: Collection[tuple[TopicPartition, int]]
) -> dict[tuple[TopicPartition, int], int]:
    """Return the log end offset of each replica that answers."""
    return kafka.ask_replicas(
        cluster.addresses,
        sorted(replicas),
        lambda address, some: known_offsets(kafka.log_end_offsets(address, some)),
    )


def _about_log_ends(brokers: Sequence[int], prediction: Prediction, ends: LogEnds) -> list[StopReason]:
    missing = {each: count for each, count in ends.missing.items() if each in prediction.new_leaders}
    unread = [each for each in ends.unread if each in prediction.new_leaders]
    found = []
    if missing:
        text = (
            f"{plural(len(missing), 'partition')} would lose records that only the leader holds, and producers with "
            f"acks=1 take for stored: {name_partitions(sorted(missing))} ({plural(sum(missing.values()), 'record')})"
        )
        remedy = "Wait until the next leaders have them"
        found.append(reason(StopReasonKind.LOST_RECORDS, brokers, text, remedy, sorted(missing)))
    if unread:
        text = f"the log ends of {plural(len(unread), 'partition')} could not be compared: {name_partitions(unread)}"
        found.append(
            reason(StopReasonKind.UNKNOWN, brokers, text, "Run this again; if it stays, look at their brokers", unread)
        )
    return found


def _about_late(brokers: Sequence[int], prediction: Prediction, late: Mapping[int, str]) -> Iterator[StopReason]:
    for broker_id, lacks in late.items():
        led = sorted(each for each, leader in prediction.new_leaders.items() if leader == broker_id)
        if led:
            text = (
                f"{plural(len(led), 'partition')} would be led by broker {broker_id}, which applies metadata late and "
                f"takes no records for that time: {name_partitions(led)}. Of the metadata, {lacks}"
            )
            remedy = f"Keep their present leaders up until broker {broker_id} has caught up"
            yield reason(StopReasonKind.LATE_LEADER, brokers, text, remedy, led)


def unread(kafka: Kafka, cluster: Cluster, view: ClusterView, stopped: Sequence[int]) -> list[StopReason]:
    """Return reasons about what the answer rests on and could not be read: current metadata, and hidden topics."""
    found = []
    unconfirmed = kafka.unconfirmed_view()
    if unconfirmed:
        found.append(
            reason(StopReasonKind.UNKNOWN, (), unconfirmed, "Make sure that the brokers follow their controllers")
        )
    live = {each: cluster.addresses[each] for each in stopped if each in view.live}
    hidden = find_hidden_topics(kafka, live, {each.topic for each in view.states})
    for broker_id, error in hidden.unknown.items():
        text = f"it is not known whether broker {broker_id} has replicas of topics that are hidden from us: {error}"
        found.append(
            reason(StopReasonKind.UNKNOWN, (), text, "Grant DESCRIBE on the cluster, and make the broker answer")
        )
    if hidden.names:
        topics = f"{len(hidden.names)} topic{' is' if len(hidden.names) == 1 else 's are'}"
        text = f"{topics} on these brokers and hidden from us: {join_first(hidden.names)}"
        found.append(reason(StopReasonKind.UNKNOWN, (), text, "Grant DESCRIBE and DESCRIBE_CONFIGS on them"))
    return found


def _stop(
    view: ClusterView, brokers: tuple[int, ...], prediction: Prediction, observation: Observation, *, is_allowed: bool
) -> Stop:
    state = observation.state
    part, changes = (brokers, ()) if is_allowed else smallest_changes(view, brokers, _bears(view, observation))
    able = {*caught_up_voters(observation)} - {*brokers}
    return Stop(
        brokers=brokers,
        verdict=Answer.YES if is_allowed else Answer.NO,
        partitions=len(view.touched_by(brokers)),
        leaders_that_move=len(prediction.new_leaders),
        led=tuple(Led(each, sum(state.leader_id == each for state in view.states)) for each in brokers),
        margin=prediction.margin,
        controllers=tuple(each.replica_id for each in state.voters if each.replica_id in brokers) if state else (),
        controllers_to_spare=len(able) - state.majority if state else None,
        part_that_may_stop=part,
        changes=changes,
    )
