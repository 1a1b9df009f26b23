# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep a broker from leading again while its logs begin after those of the present leaders (KIP-491).

So it is after a swap of hosts that kept only the last segments. Such a replica is in sync. If it leads, all other
replicas move their log start up to its own, and delete the older records (KIP-107). Records that retention deletes
anyway do not count: each broker deletes them at its own time, followers too (log.retention.check.interval.ms).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .._kafka.held_replicas import OffsetAnswer, known_offsets, only_answers
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import PartitionState, TopicPartition
from .._model.reason import because, say
from .._model.retention import FOR_EVER
from .decide import Decision
from .moves import Move, MoveStatus
from .view import LeadershipView, leave_alone

_LACKS = (
    "the log on broker {broker}, which would be preferred again, begins at offset {offset}, and the log on broker "
    "{broker_leader}, which leads, at {first}: if broker {broker} led, all replicas would delete the records before "
    "{offset}. Run again when retention has deleted them, or let broker {broker} copy the whole log: stop it, remove "
    "the directory of this partition there, and start it"
)
_SILENT = (
    "broker {broker}, which would be preferred again, does not say where its log begins, so it may lack the history: "
    "run again when it runs and has caught up. If it is lost for good, replace its replica "
    "(kafkaops.recovery.restore_redundancy, redundancy_lost_brokers={broker})"
)
_SILENT_LEADER = (
    "broker {broker_leader}, which leads, does not say where its log begins, so broker {broker}, which would be "
    "preferred again, may lack the history: run again when both answer"
)
_BY_ITSELF = "soon: while the order prefers it, Kafka may elect it by itself (auto.leader.rebalance.enable)"


def keep_history(kafka: Kafka, view: LeadershipView, living: Mapping[int, Address]) -> LeadershipView:
    """Return the view, with the order left alone where a returning broker would lead again without the history.

    Sends ListOffsets to such brokers and to the present leaders, if there are any. Where one of both does not answer, a
    restore waits for it. An order that still has a listed broker last does not wait: it moves a leader away.
    """
    pairs = {
        partition: pair
        for partition, decision in view.decisions.items()
        if (pair := _returning_and_leader(decision, view.states.get(partition)))
    }
    lacking, unknown = _compare(kafka, living, pairs)
    waiting = {each: why for each, why in unknown.items() if view.decisions[each].forgets}
    return replace(view, decisions=leave_alone(view.decisions, waiting | lacking))


@dataclass(frozen=True, slots=True)
class Histories:
    """Keeps the same leaders back when a preferred election would move them: the order may be back already.

    So it is if it was restored while the broker was down.
    """

    kafka: Kafka
    living: Mapping[int, Address]
    """The brokers that answered when the run began."""
    brokers: frozenset[int]
    """The brokers that leaders return to."""
    _found: dict[tuple[TopicPartition, int, int], str] = field(default_factory=dict)
    """By partition, target and leader: what the target lacks. Empty for nothing."""

    def hold_back(self, moves: Mapping[TopicPartition, Move]) -> dict[TopicPartition, Move]:
        """Return the moves. One to a broker whose log begins too late is not to be made.

        Sends ListOffsets for each partition, target and leader until both have answered. If one does not, the leader
        stays for now. Raises CallError.
        """
        keys = {
            each: (each, move.target, move.leader_before)
            for each, move in moves.items()
            if move.status is MoveStatus.WOULD_MOVE and move.target in self.brokers
        }
        new = {each: key[1:] for each, key in keys.items() if key not in self._found}
        unknown: Mapping[TopicPartition, str] = {}
        if new:
            known = self.living
            if not known.keys() >= {broker for pair in new.values() for broker in pair}:
                known = {**self.kafka.describe_cluster().unfenced, **known}
            lacking, unknown = _compare(self.kafka, known, new)
            self._found.update({keys[each]: lacking.get(each, "") for each in new.keys() - unknown.keys()})
        lacks = {each: why for each, key in keys.items() if (why := self._found.get(key))}
        held = {**unknown, **{each: because(why, _BY_ITSELF) for each, why in lacks.items()}}
        return {
            each: replace(move, status=MoveStatus.FAILED, reason=held[each], leader_after=move.leader_before)
            if each in held
            else move
            for each, move in moves.items()
        }


def _compare(
    kafka: Kafka, living: Mapping[int, Address], pairs: Mapping[TopicPartition, tuple[int, int]]
) -> tuple[dict[TopicPartition, str], dict[TopicPartition, str]]:
    """Compare the log of a broker with that of the present leader, for each partition.

    Returns why the broker must not lead, and, of other partitions, why it is unknown whether it may.
    """
    # A leader's log start only rises, and its followers follow. So few sound replicas seem to be late in this order.
    starts = _log_starts(kafka, living, ((partition, broker) for partition, (broker, _leader) in pairs.items()))
    first = _log_starts(kafka, living, ((partition, leader) for partition, (_broker, leader) in pairs.items()))
    unknown: dict[TopicPartition, str] = {}
    later: dict[TopicPartition, tuple[int, int]] = {}
    for partition, (broker, leader) in pairs.items():
        own, led = starts.get((partition, broker)), first.get((partition, leader))
        if own is None:
            unknown[partition] = say(_SILENT, broker=broker)
        elif led is None:
            unknown[partition] = say(_SILENT_LEADER, broker=broker, broker_leader=leader)
        elif own > led:
            later[partition] = own, led
    expired = _find_expired(kafka, living, pairs, {each: own for each, (own, _led) in later.items()})
    lacking: dict[TopicPartition, str] = {
        each: say(_LACKS, broker=pairs[each][0], broker_leader=pairs[each][1], offset=own, first=led)
        for each, (own, led) in later.items()
        if each not in expired
    }
    return lacking, unknown


def _find_expired(
    kafka: Kafka,
    living: Mapping[int, Address],
    pairs: Mapping[TopicPartition, tuple[int, int]],
    starts: Mapping[TopicPartition, int],
) -> set[TopicPartition]:
    """Return the partitions whose records before these log starts are to be deleted by retention anyway.

    The leader has only expired records before, or the broker's log alone has ``retention.bytes``.
    """
    known = kafka.read_retentions({each.topic for each in starts}) if starts else {}
    now = kafka.cluster_time() if known else None

    def first_kept(address: Address, some: Sequence[TopicPartition]) -> dict[TopicPartition, OffsetAnswer]:
        now_ms = round(now.timestamp() * 1000) if now else 0
        return only_answers(kafka.offsets_at(address, {each: now_ms - known[each.topic].milliseconds for each in some}))

    def sizes(address: Address, some: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        dirs = kafka.describe_log_dirs(address, some)
        return {each: copy.size_bytes for each in some if (copy := dirs.current_replica(each)) is not None}

    limited = [(each, known[each.topic]) for each in starts if each.topic in known]
    by_time = ((each, pairs[each][1]) for each, limit in limited if now and limit.milliseconds != FOR_EVER)
    by_size = ((each, pairs[each][0]) for each, limit in limited if limit.size_bytes != FOR_EVER)
    kept = kafka.ask_replicas(living, by_time, first_kept)
    held = kafka.ask_replicas(living, by_size, sizes)
    return {
        *(each for (each, _leader), one in kept.items() if one.offset < 0 or one.offset >= starts[each]),
        *(each for (each, _broker), size in held.items() if size >= known[each.topic].size_bytes),
    }


def _returning_and_leader(decision: Decision, state: PartitionState | None) -> tuple[int, int] | None:
    """Return the broker that a remembered order would put first again, and the leader, if that is another broker."""
    wanted = decision.outcome.replicas_after
    if state is None or decision.remembered is None or not wanted or wanted[0] == state.replicas[0]:
        return None
    return None if wanted[0] == state.leader_id else (wanted[0], state.leader_id)


def _log_starts(
    kafka: Kafka, living: Mapping[int, Address], replicas: Iterable[tuple[TopicPartition, int]]
) -> dict[tuple[TopicPartition, int], int]:
    """Return the log start of each replica. Those that do not answer are missing."""
    return kafka.ask_replicas(
        living, replicas, lambda address, some: known_offsets(kafka.log_start_offsets(address, some))
    )
