# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the list of deprioritized brokers and the partitions, and decide what a run changes. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .._kafka.cluster import Cluster
from .._kafka.errors import BrokerCallError
from .._kafka.partitions import Description, TopicError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.near_names import not_found
from .._model.partition import REASSIGNING, PartitionState, TopicPartition
from .._model.setting import Setting
from .blacklist import Blacklist, BlacklistError, Change, matches, parse_config_value
from .decide import Decision, decide, decide_deleted, decide_hidden, explain_unregistered
from .memory import Memory
from .orders import with_last

CONFIG_NAME = "preferred_leader_blacklist"
_UNFINISHED = "an earlier run changed its replicas or their order, and has not restored them yet"


@dataclass(frozen=True, slots=True)
class ListRequest:
    """The requested change of the list."""

    change: Change
    brokers: tuple[int, ...]
    patterns: tuple[str, ...]
    """The patterns whose lists change; empty to change the list for all topics."""
    ignored_topics: frozenset[str] = frozenset()
    """Topics to leave out, such as the run topic, which only exists during a run."""


@dataclass(frozen=True, slots=True)
class Config:
    """The present dynamic config."""

    entry: Setting | None
    is_native: bool
    """Whether all brokers know the config: then Kafka follows it without changed replica orders."""
    answering: tuple[Address, ...]
    """The brokers that answered. Writes go only to these: a frozen broker would execute them when it continues."""


@dataclass(frozen=True, slots=True)
class LeadershipView:
    """The state of the cluster and of the memory, and the decisions."""

    memory: Memory
    config: Config
    before: Blacklist
    after: Blacklist
    decisions: Mapping[TopicPartition, Decision]
    """The decisions about all partitions with a replica on a listed broker or with a remembered order."""
    warnings: tuple[str, ...]
    states: Mapping[TopicPartition, PartitionState] = field(default_factory=dict)
    """The states that were decided about."""
    returning: tuple[int, ...] = ()
    """The brokers that are off the list, and whose leaders have to return or were not seen to have returned, sorted."""

    @property
    def writes_config(self) -> bool:
        wanted, entry = self.after.config_value, self.config.entry
        if self.config.is_native:
            return (entry.value if entry else None) != wanted
        return self.memory.written_value != wanted or (entry is not None) != (wanted is not None)

    @property
    def has_work(self) -> bool:
        """Whether anything has to be written."""
        changes_list = self.before != self.after or self.memory.blacklist != self.after
        return changes_list or self.writes_config or any(each.has_work for each in self.decisions.values())

    def listed_for(self, topic: str) -> frozenset[int]:
        """Return the brokers that come last in the topic's replica orders. A native config needs only the patterns."""
        return (Blacklist((), self.after.by_topic) if self.config.is_native else self.after).listed_for(topic)


def read_config(kafka: Kafka, cluster: Cluster) -> Config:
    """Read the cluster default of the config, and whether all brokers know the config.

    A broker that does not know the config does not list it, or lists it as sensitive. If a broker does not answer, the
    config counts as not native.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    addresses = cluster.unfenced
    found = kafka.in_parallel(
        lambda broker_id: kafka.broker_config(addresses[broker_id], broker_id, CONFIG_NAME), addresses
    )
    is_native = bool(found) and all(isinstance(entry, Setting) and not entry.is_sensitive for entry in found.values())
    answering = tuple(addresses[each] for each, entry in found.items() if not isinstance(entry, BrokerCallError))
    return Config(kafka.cluster_default(CONFIG_NAME), is_native, answering)


def inspect(
    kafka: Kafka, config: Config, memory: Memory, request: ListRequest, unfinished: frozenset[TopicPartition]
) -> LeadershipView:
    """Read the partitions and decide what to change.

    ``unfinished`` has the partitions whose order or replicas are pending in the journal.

    Raises BlacklistError, NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    before = _list_before(config, memory)
    after = before.with_change(request.change, request.brokers, request.patterns)
    warnings = [*_config_warnings(config, memory, request, after)]
    description = kafka.describe_partitions()
    names = {each.topic for each in description.partitions}
    without = [each for each in request.patterns if not any(matches(name, [each]) for name in names)]
    warnings += not_found(without, names).values()
    view = LeadershipView(memory, config, before, after, {}, tuple(warnings))
    states = {
        each.topic_partition: each
        for each in description.partitions
        if each.topic not in request.ignored_topics
        and (each.topic_partition in memory.orders or not view.listed_for(each.topic).isdisjoint(each.replicas))
    }
    decisions = {**_decide_all(view, states), **_decide_missing(kafka, view, states)}
    decisions = _without_blocked(kafka, decisions, unfinished)
    led = [each for each in description.partitions if each.topic not in request.ignored_topics]
    return replace(view, decisions=decisions, states=states, returning=_find_returning(view, request, decisions, led))


def _find_returning(
    view: LeadershipView,
    request: ListRequest,
    decisions: Mapping[TopicPartition, Decision],
    partitions: Iterable[PartitionState],
) -> tuple[int, ...]:
    """Return the brokers that should lead partitions again, because a run has taken them off the list, or takes them.

    A list of topic patterns adds none: leaders of other topics are not to move.
    """
    taken_off = {*view.memory.returning, *(() if request.patterns else view.before.all_brokers)}
    candidates = taken_off - view.after.all_brokers
    if not candidates:
        return ()
    preferred: set[int] = set()
    for state in partitions:
        decision = decisions.get(state.topic_partition)
        original = decision.outcome.original if decision is not None else None
        first = with_last(original or state.replicas, view.after.listed_for(state.topic))[0]
        if state.leader_id != first:
            preferred.add(first)
    return tuple(sorted(candidates & preferred))


def decide_again(
    kafka: Kafka,
    view: LeadershipView,
    states: Mapping[TopicPartition, PartitionState],
    partitions: Sequence[TopicPartition],
) -> dict[TopicPartition, Decision]:
    """Decide again about partitions with work from their present state, right before a write.

    A decision stays if the state is the same: to decide takes longer than to compare.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    still_there = [each for each in partitions if each in states]
    changed = {each: states[each] for each in still_there if states[each] != view.states.get(each)}
    same = {each: view.decisions[each] for each in still_there if each not in changed}
    return _without_blocked(kafka, {**same, **_decide_all(view, changed)}, frozenset())


def _list_before(config: Config, memory: Memory) -> Blacklist:
    if config.is_native:
        value = config.entry.value if config.entry else None
        return Blacklist(parse_config_value(value or ""), memory.blacklist.by_topic)
    return memory.blacklist


def _config_warnings(config: Config, memory: Memory, request: ListRequest, after: Blacklist) -> Iterator[str]:
    """Return warnings about the config. Raises BlacklistError if the request needs a list that cannot be read."""
    if config.is_native:
        return
    if config.entry is not None and not memory.revision:
        found = (
            f"{CONFIG_NAME} is set, but these brokers do not return its value, and the memory of this run does not "
            "have the list"
        )
        if request.change is not Change.EXACT or request.patterns:
            raise BlacklistError(
                f"{found}: name the topic of the run that set it (memory_topic), or give the "
                "complete list with state: exact"
            )
        yield f"{found}: it is replaced"
    elif config.entry is not None and memory.written_value is None:
        yield (
            f"{CONFIG_NAME} is set, but is remembered as not set: a killed run of this collection or another party has "
            f"set it. It is {'replaced' if after.config_value else 'deleted'} now"
        )
    elif config.entry is None and memory.written_value is not None:
        yield (
            f"{CONFIG_NAME} was {memory.written_value}, and is not set: a killed run of this collection or another "
            f"party has deleted it{'. It is written again' if after.config_value else ''}"
        )


def _decide_all(
    view: LeadershipView, states: Mapping[TopicPartition, PartitionState]
) -> dict[TopicPartition, Decision]:
    return {
        partition: decide(state, view.memory.orders.get(partition), view.listed_for(partition.topic))
        for partition, state in states.items()
    }


def _decide_missing(
    kafka: Kafka, view: LeadershipView, states: Mapping[TopicPartition, PartitionState]
) -> dict[TopicPartition, Decision]:
    """Decide about remembered partitions that were not listed. They may exist, because ACLs hide topics."""
    missing = [each for partition, each in view.memory.orders.items() if partition not in states]
    if not missing:
        return {}
    named = kafka.describe_partitions({each.topic for each in missing})
    found = {each.topic_partition: each for each in named.partitions}
    refusals = {each.topic: each for each in named.refused}
    decisions = {}
    for each in missing:
        partition = each.topic_partition
        if partition in found:
            decisions[partition] = decide(found[partition], each, view.listed_for(each.topic))
        elif _is_deleted(refusals.get(each.topic), named, each.topic):
            decisions[partition] = decide_deleted(each)
        else:
            why = f"topic {each.topic} cannot be looked at: {refusals[each.topic]}"
            decisions[partition] = decide_hidden(each, why)
    return decisions


def _is_deleted(refusal: TopicError | None, named: Description, topic: str) -> bool:
    if refusal is None:
        # It was re-created with fewer partitions.
        return any(each.topic == topic for each in named.partitions)
    return refusal.is_unknown


def _without_blocked(
    kafka: Kafka, decisions: Mapping[TopicPartition, Decision], unfinished: frozenset[TopicPartition]
) -> dict[TopicPartition, Decision]:
    """Return the decisions, with no change of partitions that are being reassigned or pending in the journal."""
    work = [partition for partition, each in decisions.items() if each.has_work and each.outcome.replicas is not None]
    running = kafka.running_reassignments(work)
    reasons = {**dict.fromkeys(running, REASSIGNING), **dict.fromkeys(unfinished.intersection(work), _UNFINISHED)}
    return leave_alone(dict(sorted(decisions.items())), reasons)


def leave_unregistered(view: LeadershipView, cluster: Cluster) -> LeadershipView:
    """Return the view, without the orders that the controller would refuse because a broker is not registered.

    Before Kafka 4.0, it is not known whether a broker that is not listed is registered. Then these orders are
    requested.
    """
    if not cluster.lists_fenced:
        return view
    unregistered = {
        partition: absent
        for partition, each in view.decisions.items()
        if each.requests_order and (absent := sorted({*(each.outcome.replicas_after or ())} - {*cluster.addresses}))
    }
    reasons = {partition: explain_unregistered(absent) for partition, absent in unregistered.items()}
    return replace(view, decisions=leave_alone(view.decisions, reasons))


def leave_alone(
    decisions: Mapping[TopicPartition, Decision], reasons: Mapping[TopicPartition, str]
) -> dict[TopicPartition, Decision]:
    """Return the decisions, with no change of the partitions that have a reason against it."""
    return {
        partition: each.leave_alone(reasons[partition]) if partition in reasons else each
        for partition, each in decisions.items()
    }
