# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Choose brokers for the replicas that partitions have lost. Pure; standard library only.

1. A replica is lost if its broker was declared lost and does not answer, or, if all under-replicated partitions were
   asked for, if the metadata has it offline. A replica on a broker that is up is never lost, so no healthy one moves.
2. Partitions below min ISR come first, then those with the fewest copies.
3. A new replica takes the place of the lost one in the order. Its broker is in a rack that has no other replica, if
   there is one, then one without a rack, and holds few replicas; for the first place, it is the preferred leader of
   few partitions.
4. A copy that is running to replace a lost replica, as a killed run leaves it, is taken over: throttled and watched.
   Every other running reassignment is left to those who began it.
5. A broker gets a replica only if the log directory that it would choose has the space, with a margin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .._model.near_names import not_found
from .._model.partition import (
    Broker,
    PartitionState,
    Reassignment,
    TopicPartition,
    effective_min_isr,
    expand_topics,
)
from .._model.reason import say
from .._model.reasons import agreeing, name_brokers, plural
from .._model.silent_leaders import led_by_silent, silent_brokers
from .cluster_now import ClusterNow, WantedReplicas
from .places import Places
from .plan import RedundancyPlan, ReplicaMove, ReplicaStatus, Unplaced

_HIDDEN = (
    "our principal may not see its topic, so it is not known whether it lacks replicas: grant DESCRIBE on the topic"
)


def plan_moves(found: ClusterNow, wish: WantedReplicas) -> tuple[tuple[ReplicaMove, ...], tuple[Unplaced, ...]]:
    """Return the moves in the order in which they begin, and the partitions that cannot get all replicas back."""
    wanted = _wanted_partitions(found.states, wish)
    states = _select(found.states, wanted)
    usual = _usual_replicas(found)
    lacking = [each for each in (_lack(state, found, wish, usual) for state in states) if each is not None]
    lacking.sort(key=lambda each: (not each.is_below_min_isr, len(each.copies), each.state.topic, each.state.partition))
    places = Places(found, wish)
    moves, left = [], []
    for each in lacking:
        move, reason = _plan(each, found, places)
        if move is not None:
            moves.append(move)
        if reason is not None:
            left.append(reason)
    # A copy that is planned may be made all the same: the leader may only be unreachable from this host.
    named = {each.topic_partition for each in (*moves, *left)} if wish.only_of_lost_brokers else ()
    left += [each for each in find_unanswered(states, found.brokers, wish) if each.topic_partition not in named]
    if wanted is None:
        left += [Unplaced(*each, ReplicaStatus.HIDDEN, _HIDDEN) for each in found.hidden]
    known = {each.topic_partition for each in found.states}
    missing = sorted({*(wanted or ())} - known)
    topics = {each.topic for each in known}
    texts = not_found({each.topic for each in missing} - topics, topics)
    for topic, number in missing:
        text = texts.get(topic) or f"topic {topic} has no partition {number}"
        left.append(Unplaced(topic, number, ReplicaStatus.NO_SUCH_PARTITION, text))
    return tuple(moves), tuple(left)


def leave_out_full(plan: RedundancyPlan, found: ClusterNow, wish: WantedReplicas) -> RedundancyPlan:
    """Return a reviewed plan without the moves for which live brokers have too little space by now.

    A volume that is full takes a whole log directory offline, with all replicas in it.
    """
    places = Places(found, wish)
    now = {each.topic_partition: each.replicas for each in found.states}
    moves, left = [], [*plan.left_alone]
    for move in plan.moves:
        size = found.sizes.get(move.topic_partition, move.size_bytes)
        new = found.live.intersection(move.adding).difference(now.get(move.topic_partition, ()))
        full = [f"broker {each}: {why}" for each in sorted(new) if (why := places.reserve(each, size))]
        if full:
            why = f"the space does not suffice any more, so make a new plan: {'; '.join(full)}"
            left.append(Unplaced(move.topic, move.partition, ReplicaStatus.NO_BROKER, why))
        else:
            moves.append(move)
    return replace(plan, moves=tuple(moves), left_alone=tuple(left))


def find_unanswered(
    states: Sequence[PartitionState], brokers: Iterable[Broker], wish: WantedReplicas
) -> list[Unplaced]:
    """Return the partitions of which it is unknown whether a replica is lost, or gets its records.

    Until broker.session.timeout.ms after a broker has died, the metadata has its replicas online. Brokers that were
    declared lost are not in doubt. If only they were asked for, a replica on them that is behind its leader is, if that
    leader does not answer.
    """
    silent = {
        broker_id: each for broker_id, each in silent_brokers(brokers).items() if broker_id not in wish.lost_brokers
    }
    if not silent:
        return []
    if wish.only_of_lost_brokers:
        behind = [each for each in states if wish.lost_brokers.intersection(each.replicas).difference(each.isr)]
        return [
            Unplaced(state.topic, state.partition, ReplicaStatus.UNANSWERED, reason)
            for state, reason in led_by_silent(behind, silent)
        ]
    doubtful = []
    for state in _select(states, _wanted_partitions(states, wish)):
        unanswered = [each for each in state.replicas if each in silent and each not in state.offline_replicas]
        if unanswered:
            reason = say(
                "{brokers} is not fenced, and does not answer ({cause}): if it is dead or hung, the controller fences "
                "it after broker.session.timeout.ms (9 s by default), so run this again; if it runs, check its "
                "advertised.listeners and the network between it and this host",
                brokers=unanswered,
                cause=silent[unanswered[0]].cause,
            )
            doubtful.append(Unplaced(state.topic, state.partition, ReplicaStatus.UNANSWERED, reason))
    return doubtful


def _wanted_partitions(states: Iterable[PartitionState], wish: WantedReplicas) -> frozenset[TopicPartition] | None:
    if wish.partitions is None:
        return None
    return expand_topics(wish.partitions, (each.topic_partition for each in states))


def _select(states: Iterable[PartitionState], wanted: Collection[TopicPartition] | None) -> list[PartitionState]:
    return [each for each in states if wanted is None or each.topic_partition in wanted]


@dataclass(frozen=True, slots=True)
class _Lack:
    """A partition that lacks replicas."""

    state: PartitionState
    base: tuple[int, ...]
    """Its replicas, or those of the target if it is being reassigned."""
    lost: frozenset[int]
    extra: int
    """How many replicas fewer it has than the other partitions of its topic."""
    is_below_min_isr: bool
    running: Reassignment | None
    copying: tuple[int, ...]
    """Live brokers to which the running reassignment still copies."""

    @property
    def copies(self) -> tuple[int, ...]:
        """The replicas that stay."""
        return tuple(each for each in self.base if each not in self.lost)


def _usual_replicas(found: ClusterNow) -> dict[str, int]:
    """Return the number of replicas that most partitions of a topic have: the smaller one before and after a move."""
    counts: dict[str, Counter[int]] = {}
    for state in found.states:
        running = found.reassignments.get(state.topic_partition, Reassignment())
        passing = max(len(running.adding), len(running.removing))
        counts.setdefault(state.topic, Counter())[len(state.replicas) - passing] += 1
    return {topic: max(of_topic, key=lambda number: (of_topic[number], number)) for topic, of_topic in counts.items()}


def _lack(state: PartitionState, found: ClusterNow, wish: WantedReplicas, usual: Mapping[str, int]) -> _Lack | None:
    running = found.reassignments.get(state.topic_partition)
    base = tuple(each for each in state.replicas if running is None or each not in running.removing)
    live, offline = found.live, {*state.offline_replicas}
    everything = not wish.only_of_lost_brokers

    def is_lost(broker_id: int) -> bool:
        if broker_id in offline:
            return everything or broker_id in wish.lost_brokers
        return broker_id in wish.lost_brokers and broker_id not in live

    lost = {each for each in base if is_lost(each)}
    takes_over = running is not None and any(map(is_lost, (*running.removing, *running.adding)))
    if running is not None and takes_over and not everything:
        # A reassignment to a broker that is down cannot complete. It is that of a killed run, or of another party.
        lost |= {each for each in running.adding if each in base and each not in live and each not in state.isr}
    extra = max(0, usual[state.topic] - len(base)) if everything and running is None else 0
    copying: tuple[int, ...] = ()
    if running is not None and takes_over:
        copying = tuple(each for each in running.adding if each in live.difference(state.isr, lost))
    # Without a leader, the replica of a broker that is up again gets no records either.
    has_no_source = state.is_offline and not wish.lost_brokers.isdisjoint(base)
    if not lost and not extra and not copying and not has_no_source:
        return None
    min_isr = effective_min_isr(found.min_isr.get(state.topic, 1), len(base))
    in_sync = live.intersection(state.isr) - offline
    return _Lack(state, base, frozenset(lost), extra, len(in_sync) < min_isr, running, copying)


def _plan(lack: _Lack, found: ClusterNow, places: Places) -> tuple[ReplicaMove | None, Unplaced | None]:
    """Return the move, and why replicas stay lost. Both if only some can be replaced."""
    state = lack.state

    def left(status: ReplicaStatus, reason: str) -> Unplaced:
        return Unplaced(state.topic, state.partition, status, reason)

    if state.is_offline:
        return None, left(
            ReplicaStatus.NO_LEADER,
            "it has no leader, so nothing can be copied: recover it first (playbook "
            "kafkaops.recovery.recover_offline_partitions)",
        )
    size = found.sizes.get(state.topic_partition)
    if size is None:
        return None, left(
            ReplicaStatus.UNKNOWN_SIZE, f"broker {state.leader_id}, which leads it, does not say how large it is"
        )
    if absent := [each for each in lack.copies if not places.is_registered(each)]:
        reason = (
            f"{name_brokers(absent)} in its replica list {agreeing('are', len(absent))} not registered, and the "
            "controller refuses every target that has such a broker: start it, or, if it is lost for good, name it in "
            "redundancy_lost_brokers too"
        )
        return None, left(ReplicaStatus.NO_BROKER, reason)
    target: list[int] = []
    adding = [*lack.copying]
    missing = 0
    reasons: list[str] = []
    slots = [*lack.base, *[None] * lack.extra]
    for position, broker_id in enumerate(slots):
        if broker_id is not None and broker_id not in lack.lost:
            target.append(broker_id)
            continue
        taken = {*lack.base, *adding}
        beside = [*dict.fromkeys((*lack.copies, *adding))]
        chosen, why = places.take(taken, beside, size, is_first=position == 0)
        if chosen is None:
            missing += 1
            reasons = [why]
            if broker_id is not None and places.is_registered(broker_id):
                # The controller refuses an unregistered broker. Any other one stays a replica, and may return.
                target.append(broker_id)
        else:
            target.append(chosen)
            adding.append(chosen)
    gone = lack.running.removing if lack.running is not None else ()
    removed = tuple(each for each in (*lack.base, *gone) if each not in target)
    note = _about_racks(places, lack.base, target)
    short = (
        left(
            ReplicaStatus.NO_BROKER, f"{missing} of its {plural(len(slots), 'replica')} cannot be placed: {reasons[0]}"
        )
        if missing
        else None
    )
    if not adding:
        return None, short
    below = "below min ISR" if lack.is_below_min_isr else ""
    again = "takes over a running reassignment" if lack.running is not None else ""
    move = ReplicaMove(
        topic=state.topic,
        partition=state.partition,
        topic_id=state.topic_id,
        replicas=state.replicas,
        target=tuple(target),
        adding=tuple(adding),
        removing=removed,
        size_bytes=size,
        is_below_min_isr=lack.is_below_min_isr,
        reason="; ".join(filter(None, [below, again, note])),
    )
    return move, short


def _about_racks(places: Places, base: Sequence[int], target: Sequence[int]) -> str:
    """Return that a target has fewer racks than the replicas before, or perhaps has; empty if it does not."""
    racks = places.racks
    before = {racks.get(each) for each in base} - {None}
    after = {racks.get(each) for each in target} - {None}
    if len(after) < len(before):
        return f"on fewer racks than before: {len(after)} instead of {len(before)}"
    unknown = [each for each in base if each not in target and places.hides_rack(each)]
    if unknown and after and len(after) < len(target):
        names = ", ".join(map(str, unknown))
        return f"perhaps on fewer racks than before: {len(after)}, and the rack of broker {names} is not known"
    return ""
