# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide which missing brokers to start first and which to wait for, and predict what the controller then does.

Pure; standard library only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .._model.controller_model import PredictedLeader, Rule, acceptable_replicas, predict
from .._model.partition import NO_LEADER, Broker, BrokerState, PartitionState, TopicPartition, grouped
from .._model.reasons import plural
from .forecast import find_last_leader
from .strategy import Policy, Step, apply_strategy


@dataclass(frozen=True, slots=True)
class PartitionReturn:
    """The controller's election for one partition when one broker returns, and no other broker changes."""

    topic_partition: TopicPartition
    after_clean_stop: PredictedLeader
    after_unclean_stop: PredictedLeader
    """After a SIGKILL or a power loss. With ELR on, the controller then removes the broker from the ELR."""

    @property
    def is_always_back(self) -> bool:
        """True if the partition gets a leader after a clean and after an unclean stop."""
        return NO_LEADER not in (self.after_clean_stop.leader_id, self.after_unclean_stop.leader_id)


@dataclass(frozen=True, slots=True)
class StartAdvice:
    """What the return of one missing broker changes. Counts are numbers of offline partitions."""

    broker_id: int
    broker: Broker | None
    """None if the controller does not know the broker."""
    last_leader_of: int
    """Partitions of which it was the last leader."""
    eligible_for: int
    """Partitions that have it in the ISR or ELR."""
    only_eligible_for: int
    """Partitions that have only this broker in the ISR or ELR."""
    replica_of: int
    """Partitions that have a replica on it."""
    always_back: int
    """Partitions that get a leader when it returns, after any stop."""
    back_after_clean_stop: int
    """Partitions that get a leader only if it stopped cleanly."""
    partitions: tuple[PartitionReturn, ...]
    """Some of the ``replica_of`` partitions, those that get a leader first."""
    doubtful_leaders: tuple[int, ...] = ()
    """Last known leaders that came back from an unclean stop, so that Kafka took them out of the ELR. All the same, it
    elects them when this broker returns from one (KIP-966), and what they lack is then deleted everywhere. This broker
    can be one of them."""
    is_running: bool = False
    """True if the controller does not fence it: its replicas are on an offline log dir, which is to be repaired. The
    broker is not to be started."""


def find_start_order(
    partitions: Iterable[PartitionState], brokers: Iterable[Broker], *, most_partitions: int = 20
) -> tuple[StartAdvice, ...]:
    """Return advice on the missing brokers, in the order in which to start them.

    Brokers are ordered by the number of partitions of which they were the last leader (it holds all acknowledged
    records), then of which they are in the ISR or ELR (they hold all committed records), then of which they have a
    replica, then by broker id. Partitions that have a leader, or get one without a broker's return, do not count.

    The offline replicas of ``partitions`` are those whose broker is fenced or whose log dir is offline.
    """
    known = {each.broker_id: each for each in brokers}
    shares = grouped(each for state in partitions for each in _find_shares(state))
    advice = [
        _make_advice(broker_id, known.get(broker_id), each, most_partitions) for broker_id, each in shares.items()
    ]
    return tuple(sorted(advice, key=_advice_key))


@dataclass(frozen=True, slots=True)
class _Share:
    """What one broker is for one partition."""

    is_last_leader: bool
    is_eligible: bool
    is_only_eligible: bool
    coming_back: PartitionReturn
    doubtful_leaders: frozenset[int]


def _find_shares(state: PartitionState) -> Iterator[tuple[int, _Share]]:
    acceptable = acceptable_replicas(state)
    if not state.is_offline or predict(state, state.replicas, acceptable, unclean=False).leader_id != NO_LEADER:
        return
    eligible = {*state.isr, *(state.elr or ())}
    leader = find_last_leader(state)
    for broker_id in state.replicas:
        if broker_id in acceptable:
            continue
        back = acceptable | {broker_id}
        coming_back = PartitionReturn(
            state.topic_partition,
            predict(state, state.replicas, back, unclean=False),
            predict(_after_unclean_stop(state, broker_id), state.replicas, back, unclean=False),
        )
        after = coming_back.after_unclean_stop
        is_doubtful = after.rule is Rule.LAST_KNOWN_LEADER and after.leader_id not in eligible
        yield (
            broker_id,
            _Share(
                broker_id == leader,
                broker_id in eligible,
                eligible == {broker_id},
                coming_back,
                frozenset({after.leader_id} if is_doubtful else ()),
            ),
        )


def _after_unclean_stop(state: PartitionState, broker_id: int) -> PartitionState:
    """Return the partition after the broker stopped uncleanly and registered again (KIP-966; tried on 4.3.1 and 4.4.0).

    The controller removes such a broker from the ELR. If an offline partition has a non-empty ISR, ELR is off: then the
    controller removes nothing.
    """
    if state.isr or not state.elr:
        return state
    return state._replace(elr=tuple(each for each in state.elr if each != broker_id))


def _make_advice(broker_id: int, broker: Broker | None, shares: Sequence[_Share], most_partitions: int) -> StartAdvice:
    coming_back = sorted((each.coming_back for each in shares), key=_return_key)
    always = sum(each.is_always_back for each in coming_back)
    clean = sum(each.after_clean_stop.leader_id != NO_LEADER for each in coming_back)
    return StartAdvice(
        broker_id,
        broker,
        last_leader_of=sum(each.is_last_leader for each in shares),
        eligible_for=sum(each.is_eligible for each in shares),
        only_eligible_for=sum(each.is_only_eligible for each in shares),
        replica_of=len(shares),
        always_back=always,
        back_after_clean_stop=clean - always,
        partitions=tuple(coming_back[:most_partitions]),
        doubtful_leaders=tuple(sorted({leader for each in shares for leader in each.doubtful_leaders})),
        is_running=broker is not None and not broker.is_fenced and broker.state is not BrokerState.GIVEN_UP,
    )


def _advice_key(advice: StartAdvice) -> tuple[int, int, int, int]:
    return -advice.last_leader_of, -advice.eligible_for, -advice.replica_of, advice.broker_id


def _return_key(partition: PartitionReturn) -> tuple[bool, bool, TopicPartition]:
    return not partition.is_always_back, partition.after_clean_stop.leader_id == NO_LEADER, partition.topic_partition


def describe_advice(advice: StartAdvice) -> str:
    """Return the advice as text: what the broker holds, what its return changes, and what to take care of."""
    return "; ".join(
        [
            f"broker {advice.broker_id}: {_describe_replicas(advice)}",
            *_describe_effect(advice),
            *_describe_caution(advice),
        ]
    )


def _describe_replicas(advice: StartAdvice) -> str:
    only = f", alone for {advice.only_eligible_for}" if advice.only_eligible_for else ""
    eligible = f"in the ISR or ELR of {advice.eligible_for}{only}"
    return f"last leader of {advice.last_leader_of}, {eligible}, replica of {plural(advice.replica_of, 'partition')}"


def _describe_effect(advice: StartAdvice) -> Iterator[str]:
    if not advice.always_back and not advice.back_after_clean_stop:
        yield "its return recovers none of them: the controller does not elect it, but its logs can then be compared"
    if advice.always_back:
        count = plural(advice.always_back, "partition")
        yield f"{count} back as soon as it returns, even if another replica holds more"
    if advice.back_after_clean_stop:
        count = plural(advice.back_after_clean_stop, "partition")
        yield f"{count} back only if it was stopped cleanly: otherwise it leaves the ELR"


def _describe_caution(advice: StartAdvice) -> Iterator[str]:
    if advice.broker is None:
        yield "the controller does not know it: it was unregistered, or never existed"
    elif advice.is_running:
        yield describe_repair(advice.broker_id, advice.broker.cause)
    elif advice.broker.state is BrokerState.GIVEN_UP:
        yield (
            "it was declared lost: start it with an empty disk only after all partitions with other replicas are "
            "recovered, because it may lead, and then the others delete all records"
        )
    elif advice.always_back or advice.back_after_clean_stop:
        yield "start it with its old disk only: it may lead with an empty one, and then the others delete all records"
    yield from describe_doubtful_leaders(advice.broker_id, advice.doubtful_leaders)


def describe_doubtful_leaders(broker_id: int, leaders: Sequence[int]) -> Iterator[str]:
    """Yield what to take care of before a broker is started, if a last known leader may have lost records.

    Tried on 4.3.1: the last leader was back with an older image of its disk, and held 50 of 150 records that producers
    with acks=all had written. A member of the ELR, which held all of them, was killed and started: 50 were left.
    """
    for leader in leaders:
        if leader == broker_id:
            yield (
                f"broker {leader} came back from an unclean stop after it had led, and leads again even if it lost "
                "records: if another replica holds more than it did then, leave it down, and add it to "
                "unclean_recovery_lost_brokers"
            )
        else:
            yield (
                f"if broker {broker_id} was not stopped cleanly either, the controller elects broker {leader}, which "
                f"led last, and broker {broker_id} deletes what broker {leader} lacks. After a power loss, or with a "
                f"restored disk, broker {leader} may lack records: stop it before broker {broker_id} starts"
            )


def describe_repair(broker_id: int, cause: str) -> str:
    """Return what to do about replicas on an offline log dir of a broker that runs. ``cause`` is the broker's.

    Tried on 4.3.1: a broker that was restarted with an empty log dir was elected, and all replicas were empty then.
    """
    return (
        f"broker {broker_id} runs, and replicas on it are offline{f' ({cause})' if cause else ''}: repair the disk, "
        "or free space if it is full, and restart the broker with the old content of this log directory. If it is "
        "lost, first recover with "
        f"unclean_recovery_lost_brokers: [{broker_id}], and only then replace the directory: with an empty one, the "
        "broker may be elected, and then the others delete all records"
    )


_MAY_RETURN = frozenset({BrokerState.FENCED, BrokerState.UNREACHABLE, BrokerState.HUNG})
"""States of brokers that are waited for. Not those that refuse our principal, or are named in lost_brokers."""


@dataclass(frozen=True, slots=True)
class AwaitedBroker:
    """A missing broker that a run waits for. Counts are numbers of offline partitions."""

    broker_id: int
    state: BrokerState
    cause: str
    partitions: int
    """Partitions for which its answer may decide which replica is elected."""
    holds_back: int
    """Partitions that the strategy does not recover without it."""


@dataclass(frozen=True, slots=True)
class AwaitedBrokers:
    """The brokers that a run waits for."""

    brokers: tuple[AwaitedBroker, ...]
    """In the order in which to start them."""
    left_to_controller: int
    """Number of partitions for which the controller is about to elect a leader by itself."""


def find_awaited(
    partitions: Iterable[PartitionState],
    policies: Mapping[str, Policy],
    brokers: Iterable[Broker],
    declared: Collection[int] = (),
) -> AwaitedBrokers:
    """Return the missing brokers whose answers may decide an election. ``policies`` are by topic.

    ``declared`` are the ids of brokers that the operator named as lost. Of one that is online, only replicas that are
    offline are lost.

    An answer decides nothing if a member of the ISR or ELR can be elected, or if the strategy forbids every other
    election.
    """
    known = {each.broker_id: each for each in brokers}
    online = frozenset(each.broker_id for each in known.values() if each.state is BrokerState.ONLINE)
    lost = frozenset(each.broker_id for each in known.values() if each.state is BrokerState.GIVEN_UP)
    away = frozenset(each.broker_id for each in known.values() if each.state in _MAY_RETURN)
    wanted: Counter[int] = Counter()
    needed: Counter[int] = Counter()
    left_to_controller = 0
    states = [each for each in partitions if each.is_offline]
    for state in states:
        lost_here = lost.union(online.intersection(declared, state.offline_replicas))
        ruling = apply_strategy(policies[state.topic].strategy, state, acceptable_replicas(state), online, lost_here)
        if ruling.step is Step.UNCLEAN_RECOVERY:
            wanted.update(away.intersection(state.replicas))
        elif ruling.step is Step.WAIT:
            wanted.update(away.intersection(ruling.awaited))
            needed.update(away.intersection(ruling.awaited))
        left_to_controller += ruling.step is Step.LEAVE_TO_CONTROLLER
    order = {each.broker_id: place for place, each in enumerate(find_start_order(states, known.values()))}
    return AwaitedBrokers(
        tuple(
            AwaitedBroker(each, known[each].state, known[each].cause, wanted[each], needed[each])
            for each in sorted(wanted, key=lambda each: (order.get(each, len(order)), each))
        ),
        left_to_controller,
    )


def name_with_states(brokers: Iterable[AwaitedBroker]) -> str:
    """Return the brokers and their states as text, in the given order."""
    return ", ".join(f"broker {each.broker_id} ({each.state.words})" for each in brokers)
