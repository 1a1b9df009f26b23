# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the offline partitions and the state of the brokers. A run on a healthy cluster ends after this step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .._kafka.base_port import BaseKafka
from .._kafka.cluster import Cluster
from .._kafka.hidden_topics import find_hidden_topics
from .._kafka.partitions import Description
from .._model.near_names import not_found
from .._model.partition import Broker, BrokerState, PartitionState, TopicPartition, expand_topics
from .._model.reason import say
from .._model.replaced_disk import leads_alone
from .._model.run import Clock, KafkaOpsError, garbage_collection_paused
from .._model.silent_leaders import led_by_silent, silent_brokers, wait_for_fencing
from .offline_dirs import add_offline_dirs
from .plan import LeftAlone, RefusedBy, Status, leave_alone

_OURS = "_kafkaops_"
"""How the default names of our own topics begin. A principal may have only the ACLs for these."""


class UnconfirmedViewError(KafkaOpsError):
    """No partition seems to be offline, but the metadata may be old, or hidden from our principal."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The state of the cluster. Partitions are in order of topic, then number."""

    cluster_id: str
    brokers: tuple[Broker, ...]
    offline: tuple[PartitionState, ...]
    """Offline partitions to recover."""
    left_alone: tuple[LeftAlone, ...]
    """Partitions that are not to be recovered: with a leader, not existing, hidden from us, or internal."""
    without_leader: tuple[PartitionState, ...]
    """All wanted partitions that are offline, internal topics included: the return of a broker may recover them."""
    tiered: Mapping[str, bool] = field(default_factory=dict)
    """Whether topics of ``offline`` are tiered (remote.storage.enable). A topic is missing if this is unknown."""
    led_by_silent: tuple[LeftAlone, ...] = ()
    """Those of ``left_alone`` whose leader, by the metadata, is a broker that does not answer."""
    led_by_replaced: tuple[LeftAlone, ...] = ()
    """Those of ``left_alone`` whose leader's disk seems to have been replaced, while all other replicas are down."""
    leaving_behind: tuple[PartitionState, ...] | None = ()
    """Of all partitions, those that have a leader, and offline replicas that are not in sync with it. None if only the
    topics of the wanted ones were described."""
    lost: frozenset[int] = frozenset()
    """Ids of brokers that the operator named as lost for good. If one is online, its replicas on offline log
    directories are lost."""

    def count_doubtful(self) -> dict[str, int]:
        """Return how many partitions have a leader that may be none, by the name of the module's result."""
        return {"led_by_silent": len(self.led_by_silent), "led_by_replaced": len(self.led_by_replaced)}


def survey_when_fenced(
    look: Callable[[], Survey], limit_ms: int, clock: Clock, report: Callable[[str], object]
) -> Survey:
    """Survey until no partition is led by a broker that does not answer, for at most ``limit_ms``.

    Raises the errors of survey.
    """
    return wait_for_fencing(look, lambda found: found.led_by_silent, limit_ms, clock, report)


def survey(
    kafka: BaseKafka,
    wanted: Collection[TopicPartition] | None = None,
    *,
    include_internal: bool = False,
    lost: Collection[int] = (),
    when_offline: Callable[[int], object] = lambda replicas: None,
) -> Survey:
    """Survey the wanted partitions, or all partitions that our principal may describe, and their brokers.

    A wanted partition ALL_PARTITIONS means all partitions of its topic.

    Partitions of Kafka's internal topics are left alone unless ``include_internal``: their data is the cluster's own
    state. ``lost`` are the ids of brokers that the operator named as lost for good. If partitions are offline,
    ``when_offline`` is called with their number of replicas, before the brokers are contacted.

    Raises UnconfirmedViewError, NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    cluster = kafka.describe_cluster()
    topics = {each.topic for each in wanted} if wanted is not None else None
    with garbage_collection_paused():
        description = kafka.describe_partitions(topics)
    if wanted is None and all(each.topic.startswith(_OURS) for each in description.partitions):
        _require_no_topics(kafka, cluster, description)
    if wanted is not None:
        wanted = expand_topics(wanted, (each.topic_partition for each in description.partitions))
    chosen, left_alone = _select(kafka, description, wanted)
    offline = [each for each in chosen if each.is_offline and (include_internal or not each.is_internal)]
    if offline:
        when_offline(sum(len(each.replicas) for each in offline))
    mentioned = frozenset(broker_id for each in description.partitions for broker_id in each.replicas)
    brokers = tuple(mark_as_lost(each, lost) for each in kafka.probe_brokers(cluster, mentioned))
    brokers = add_offline_dirs(kafka, brokers, description.partitions)
    if not any(each.is_offline for each in chosen) and kafka.unconfirmed_view():
        raise UnconfirmedViewError(
            "every partition has a leader in the only metadata that could be read, but it may be old: "
            f"{kafka.unconfirmed_view()}. Check the controllers (playbook kafkaops.recovery.check_quorum), or name "
            "more brokers in bootstrap_servers"
        )
    doubted = tuple(
        leave_alone(state, Status.UNKNOWN, why) for state, why in led_by_silent(chosen, silent_brokers(brokers))
    )
    led_by_replaced = tuple(_find_led_by_replaced(kafka, chosen, description.partitions, brokers, lost))
    if doubtful := (*doubted, *led_by_replaced):
        unclear = {each.topic_partition for each in doubtful}
        left_alone = [*(each for each in left_alone if each.topic_partition not in unclear), *doubtful]
    left_alone += [
        leave_internal_alone(each) for each in chosen if each.is_offline and each.is_internal and not include_internal
    ]
    return Survey(
        cluster.cluster_id,
        brokers,
        tuple(offline),
        tuple(sorted(left_alone, key=lambda each: each.topic_partition)),
        tuple(each for each in chosen if each.is_offline),
        led_by_silent=doubted,
        led_by_replaced=led_by_replaced,
        leaving_behind=tuple(each for each in description.partitions if each.left_behind) if topics is None else None,
        lost=frozenset(lost),
    )


def _require_no_topics(kafka: BaseKafka, cluster: Cluster, description: Description) -> None:
    """Raise UnconfirmedViewError if our principal sees no topic but our own, and brokers have others."""
    hidden = find_hidden_topics(kafka, cluster.unfenced, {each.topic for each in description.partitions})
    if hidden.names:
        raise UnconfirmedViewError(
            f"our principal may see no topic of this cluster, which has {len(hidden.names)}: grant it DESCRIBE on them "
            "(playbook kafkaops.recovery.check_readiness)"
        )
    if hidden.unknown:
        broker_id, error = next(iter(hidden.unknown.items()))
        raise UnconfirmedViewError(
            f"our principal sees no topic, and whether broker {broker_id} has one is not known: {error}"
        )


def _find_led_by_replaced(
    kafka: BaseKafka,
    chosen: Iterable[PartitionState],
    states: Sequence[PartitionState],
    brokers: Sequence[Broker],
    lost: Collection[int],
) -> Iterator[LeftAlone]:
    if not any(leads_alone(each) for each in chosen if each.offline_replicas):
        return
    # Most runs do not need this, and it imports most requests.
    from .._history.replaced_leaders import find_replaced_leaders  # noqa: PLC0415

    reasons = find_replaced_leaders(kafka, states, brokers, lost)
    for each in chosen:
        if reason := reasons.get(each.topic_partition):
            yield leave_alone(each, Status.UNKNOWN, reason)


def mark_as_lost(broker: Broker, lost: Collection[int]) -> Broker:
    """Return the broker in state GIVEN_UP if the operator named it in lost_brokers and it is not online."""
    if broker.broker_id not in lost or broker.state is BrokerState.ONLINE:
        return broker
    return replace(
        broker, state=BrokerState.GIVEN_UP, cause=f"named in lost_brokers, so not waited for: {broker.cause}"
    )


def survey_again(kafka: BaseKafka, found: Survey) -> Survey:
    """Survey the offline partitions again: Kafka may have elected leaders by itself in the meantime.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    cluster = kafka.describe_cluster()
    metadata = kafka.read_partition_states([each.topic_partition for each in found.without_leader])
    # A partition that is hidden now keeps its last state: it is not known to have a leader.
    states = [
        metadata.states.get(each.topic_partition) or each
        for each in found.without_leader
        if each.topic_partition in metadata.states or each.topic in metadata.hidden
    ]
    mentioned = frozenset(broker_id for each in states for broker_id in each.replicas)
    brokers = tuple(mark_as_lost(each, found.lost) for each in kafka.probe_brokers(cluster, mentioned))
    wanted = {each.topic_partition for each in found.offline}
    deleted = wanted - {each.topic_partition for each in states}
    left_alone = [
        *found.left_alone,
        *(_leave_online(each) for each in states if each.topic_partition in wanted and not each.is_offline),
        *(LeftAlone(each.topic, each.partition, Status.UNKNOWN, "it was deleted during the run") for each in deleted),
    ]
    return Survey(
        cluster.cluster_id,
        add_offline_dirs(kafka, brokers, states),
        tuple(each for each in states if each.topic_partition in wanted and each.is_offline),
        tuple(sorted(left_alone, key=lambda each: each.topic_partition)),
        tuple(each for each in states if each.is_offline),
        led_by_silent=found.led_by_silent,
        led_by_replaced=found.led_by_replaced,
        leaving_behind=found.leaving_behind,
        lost=found.lost,
    )


def _select(
    kafka: BaseKafka, description: Description, wanted: Collection[TopicPartition] | None
) -> tuple[list[PartitionState], list[LeftAlone]]:
    if wanted is None:
        return list(description.partitions), []
    found = {each.topic_partition: each for each in description.partitions}
    chosen = [found[each] for each in sorted(set(wanted)) if each in found]
    online = [_leave_online(each) for each in chosen if not each.is_offline]
    return chosen, [*online, *explain_missing(kafka, description, sorted(set(wanted) - found.keys()))]


def explain_missing(
    kafka: BaseKafka, description: Description, missing: Iterable[TopicPartition]
) -> Iterator[LeftAlone]:
    """Yield these partitions, which the description of their topics does not have, each with the reason.

    Raises NoBrokerAnswersError, or BrokerCallError: the names of other topics could not be read.
    """
    refusals = {each.topic: str(each) for each in description.refused if not each.is_unknown}
    unknown = {each.topic for each in description.refused if each.is_unknown}
    names = {each.topic for each in kafka.describe_partitions().partitions} if unknown else set()
    texts = not_found(unknown, names)
    for each in missing:
        if each.topic in refusals:
            reason: str = say(
                "topic {topic} cannot be described: {error}", topic=each.topic, error=refusals[each.topic]
            )
        else:
            no_partition = say("topic {topic} has no partition {partition}", topic=each.topic, partition=each.partition)
            reason = texts.get(each.topic) or no_partition
        yield LeftAlone(each.topic, each.partition, Status.UNKNOWN, reason)


def _leave_online(state: PartitionState) -> LeftAlone:
    return leave_alone(state, Status.ALREADY_ONLINE, say("broker {broker} leads it", broker=state.leader_id))


def leave_internal_alone(state: PartitionState) -> LeftAlone:
    """Return a partition of an internal topic as left alone."""
    reason = "internal topic: its records are the cluster's own state; opt in with include_internal_topics"
    return replace(leave_alone(state, Status.REFUSED, reason), refused_by=RefusedBy.INTERNAL_TOPIC)
