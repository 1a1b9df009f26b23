# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Group outcomes that are alike, so that 3,000 partitions of one outage fit on one screen.

Pure; standard library only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .._model.outage import Assumption, each_once, in_words, led_alone
from .._model.partition import grouped
from .._model.reason import likeness
from .._model.reasons import NamedTopics, common_reason, name_topics, plural, ranges
from .candidate import Candidate, Flag
from .empty_leader import is_empty
from .expected_loss import ExpectedLoss
from .outcome import Outcome
from .plan import DONE, Status
from .verdict import LossTotal, Writability, describe_knowledge

MAX_GROUPS = 8
"""If there are more groups, outcomes are grouped with fewer distinctions."""
ELECTED = frozenset({Status.RECOVERED, Status.WOULD_RECOVER})
_WORST_FIRST = (
    Status.FAILED,
    Status.UNKNOWN,
    Status.UNRECOVERABLE,
    Status.REFUSED,
    Status.WOULD_RECOVER,
    Status.RECOVERED,
    Status.ALREADY_ONLINE,
)


@dataclass(frozen=True, slots=True)
class LeaderShare:
    """The number of partitions of a group that one broker leads, or would lead."""

    broker_id: int
    partitions: int


@dataclass(frozen=True, slots=True)
class Group:
    """Outcomes with the same status and the same reason."""

    status: Status
    partitions: int
    """The number of partitions."""
    topics: NamedTopics
    leaders: tuple[LeaderShare, ...]
    """The brokers that were or would be elected, most partitions first. Empty if there was no election."""
    reason: str
    """The common parts of the reasons. Numbers that differ are given from the lowest to the highest."""
    loss: str
    """What the election of the leader, or of the best replica, loses. Empty if nothing was compared."""
    total: LossTotal
    refused_by: tuple[str, ...] = ()
    """Those of ``rules_of_refusals``."""


@dataclass(frozen=True, slots=True)
class Members:
    """A group with its outcomes."""

    group: Group
    outcomes: tuple[Outcome, ...]


class Danger(StrEnum):
    """What electing a log means, besides its known loss. The value is put into words for a person."""

    EMPTY = "leaves the partition empty"
    """The log is empty, and other replicas hold records, or may hold some."""
    GAP = "its log ends before the log of another replica begins, and the records in between are on neither"
    DIVERGED = "its log holds records that the best one does not hold"


@dataclass(frozen=True, slots=True)
class _Facts:
    """The values of one outcome by which outcomes are grouped."""

    outcome: Outcome
    leader: int | None
    rank: str
    reason: str
    loss: ExpectedLoss | None
    losing: tuple[int, ...]
    """Brokers that answered and hold records that are lost."""
    nothing: tuple[int, ...]
    """Brokers that answered and hold no record that is lost."""
    unknown: tuple[int, ...]
    """Brokers that may hold further records that are lost."""
    dangers: tuple[Danger, ...]
    """What is wrong with the log of the leader, or of the best replica, besides its known loss."""

    @property
    def is_timed(self) -> bool:
        """Whether it is known in which time the records were written that ``unknown`` brokers may hold."""
        return self.loss is not None and _is_timed(self.loss)


def group_outcomes(outcomes: Iterable[Outcome]) -> tuple[Members, ...]:
    """Group outcomes by status, leader, reason and loss. The worst group comes first, then the largest.

    If that makes more than ``MAX_GROUPS`` groups, the brokers in a group may differ. If there are still more, the
    reasons may differ too.
    """
    facts = [_find_facts(each) for each in outcomes]
    levels: tuple[Callable[[_Facts], Hashable], ...] = (_same_brokers, _same_reason, _same_kind_of_loss)
    buckets: dict[Hashable, list[_Facts]] = {}
    for level in levels:
        buckets = grouped((level(each), each) for each in facts)
        if len(buckets) <= MAX_GROUPS:
            break
    return tuple(sorted(map(_make_members, buckets.values()), key=_group_key))


def total_loss(outcomes: Iterable[Outcome]) -> LossTotal:
    """Return the total loss of all elections. Outcomes without an election do not count."""
    elected = [each for each in outcomes if each.status in ELECTED]
    losses = [each.loss_of(each.designated_leader) for each in elected]
    return _sum_losses(losses, [_find_dangers(each, loss) for each, loss in zip(elected, losses, strict=True)])


def total_of(loss: ExpectedLoss) -> LossTotal:
    """Return the total of one loss."""
    return _sum_losses([loss], [])


def count_writable(outcomes: Iterable[Outcome]) -> Writability:
    """Count which partitions take records with acks=all. Partitions without a leader do not count."""
    writable = [each.is_writable for each in outcomes if each.status in DONE]
    return Writability(writable.count(True), len(writable), writable.count(None))


def rules_of_refusals(outcomes: Iterable[Outcome]) -> set[str]:
    """Return the rules that refused elections until more is allowed (``RefusedBy``); "" for another refusal."""
    return {each.refused_by or "" for each in outcomes if each.status is Status.REFUSED}


def _find_facts(outcome: Outcome) -> _Facts:
    leader = outcome.designated_leader if outcome.status in ELECTED else None
    best = outcome.candidates[0].broker_id if outcome.candidates else None
    loss = outcome.loss_of(best if leader is None else leader)
    against = () if loss is None else loss.against
    dangers = _find_dangers(outcome, loss)
    # A comparison of two empty logs says nothing.
    compared = () if Danger.EMPTY in dangers else against
    return _Facts(
        outcome,
        leader,
        rank="" if leader is None else _rank_in_words(outcome.candidates, leader),
        reason=outcome.cause or "",
        loss=loss,
        losing=tuple(each.broker_id for each in against if each.answered and each.lost),
        nothing=tuple(each.broker_id for each in compared if each.is_exact and not each.lost),
        unknown=tuple(each.broker_id for each in against if not each.is_bounded or each.lost is None),
        dangers=dangers,
    )


def _find_dangers(outcome: Outcome, loss: ExpectedLoss | None) -> tuple[Danger, ...]:
    log = next((each for each in outcome.candidates if loss and each.broker_id == loss.broker_id), None)
    if loss is None or log is None:
        return ()
    # A member of the ISR or ELR holds all committed records. If it is empty, nothing was committed.
    is_in_sync = log.broker_id in {*(outcome.isr or ()), *(outcome.elr or ())}
    conditions = (
        (Danger.EMPTY, is_empty(log) and not is_in_sync and loss.at_most != 0),
        (Danger.GAP, Flag.GAP in log.flags),
        (Danger.DIVERGED, Flag.DIVERGED in log.flags),
    )
    return tuple(danger for danger, holds in conditions if holds)


def _same_brokers(facts: _Facts) -> Hashable:
    alike = likeness(facts.reason, with_brokers=True)
    losses = facts.losing, facts.nothing, facts.unknown
    return facts.outcome.status, facts.leader, facts.rank, alike, losses, facts.is_timed, facts.dangers


def _same_reason(facts: _Facts) -> Hashable:
    alike = likeness(facts.reason, with_brokers=False)
    losses = bool(facts.losing), bool(facts.nothing), bool(facts.unknown)
    return facts.outcome.status, facts.rank, alike, losses, facts.is_timed, facts.dangers


def _same_kind_of_loss(facts: _Facts) -> Hashable:
    return facts.outcome.status, bool(facts.losing), bool(facts.unknown), facts.dangers


def _rank_in_words(candidates: Sequence[Candidate], leader: int) -> str:
    if not candidates:
        return ""
    first, *others = candidates
    if leader != first.broker_id:
        return "not ranked first"
    if not others:
        return "the only replica that answered"
    if first.last_written_epoch != others[0].last_written_epoch:
        return "the newest leader epoch"
    if first.log_end_offset != others[0].log_end_offset:
        return "the longest log of the newest leader epoch"
    return "as good as the next one, and earlier in the replica list"


def _make_members(facts: Sequence[_Facts]) -> Members:
    outcomes = tuple(each.outcome for each in facts)
    leaders = Counter(each.leader for each in facts if each.leader is not None)
    total = _sum_losses([each.loss for each in facts], [each.dangers for each in facts])
    group = Group(
        facts[0].outcome.status,
        len(outcomes),
        name_topics(outcomes),
        tuple(
            LeaderShare(broker, count) for broker, count in sorted(leaders.items(), key=lambda one: (-one[1], one[0]))
        ),
        "; ".join(
            filter(
                None, [common_reason([e.rank for e in facts if e.rank]), common_reason([each.reason for each in facts])]
            )
        ),
        _loss_in_words(facts, total),
        total,
        tuple(sorted(rules_of_refusals(outcomes))),
    )
    return Members(group, outcomes)


def _sum_losses(losses: Sequence[ExpectedLoss | None], dangers: Sequence[tuple[Danger, ...]]) -> LossTotal:
    at_least = sum(each.at_least for each in losses if each is not None)
    most = [None if each is None else each.at_most for each in losses]
    bounded = [each for each in most if each is not None]
    return LossTotal(
        at_least,
        sum(bounded) if len(bounded) == len(most) else None,
        len(most) - len(bounded),
        left_empty=sum(Danger.EMPTY in each for each in dangers),
        with_gap=sum(Danger.GAP in each for each in dangers),
        **_sum_pasts([each for each in losses if each is not None and _is_timed(each)]),
        keeps_acks_all=bool(losses) and all(each is not None and each.acks_all_lost == 0 for each in losses),
        assumptions=_assumptions_of([each for each in losses if each is not None and each.at_most is None]),
    )


def _assumptions_of(unbounded: Sequence[ExpectedLoss]) -> tuple[Assumption, ...]:
    """Return what the times and proofs of losses without an upper bound rest on."""
    return each_once(
        assumption
        for each in unbounded
        if _is_timed(each) or each.acks_all_lost == 0
        for assumption in each.assumptions
    )


def _is_timed(loss: ExpectedLoss) -> bool:
    return loss.at_most is None and loss.bounded_seconds is not None


def _sum_pasts(timed: Sequence[ExpectedLoss]) -> dict[str, Any]:
    """Return what is known of losses that are bounded in time only."""
    estimates = [each.estimate for each in timed if each.estimate is not None]
    return {
        "seconds": max((each.bounded_seconds or 0 for each in timed), default=None),
        "estimated": tuple(sum(each) for each in zip(*((e.records, e.low, e.high) for e in estimates), strict=True))
        or None,
        "timed": len(timed),
        "estimates": len(estimates),
    }


def _loss_in_words(facts: Sequence[_Facts], total: LossTotal) -> str:
    if all(each.loss is None for each in facts):
        return ""
    dangers = facts[0].dangers  # the same for all outcomes of a group
    clauses: list[str] = [each.value for each in dangers]
    if any(each.losing for each in facts):
        holders = _holders_in_words([each.losing for each in facts if each.losing])
        clauses.append(f"loses at least {plural(total.at_least, 'record')} that {holders}")
    elif any(each.nothing for each in facts):
        clauses.append(f"loses nothing that {_holders_in_words([each.nothing for each in facts])}")
    if any(each.unknown for each in facts):
        others = _brokers_in_words({b for e in facts for b in e.unknown})
        if total.seconds is None:
            clauses.append(f"what {others} may hold beyond that is unknown")
        else:
            text = f"{others} may hold what was written in the last {in_words(total.seconds)} before the loss"
            not_timed = total.unbounded - total.timed
            unknown = f"; for {plural(not_timed, 'partition')}, what {others} may hold is unknown" if not_timed else ""
            clauses.append(f"{text}{unknown}")
        clauses += filter(None, [led_alone(each.outcome.history for each in facts)])
        clauses += describe_knowledge(total)
    return "; ".join(clauses) or "nothing could be compared"


def _holders_in_words(brokers: Sequence[tuple[int, ...]]) -> str:
    if len(set(brokers)) > 1:
        return "another replica that answered holds"
    return f"{_brokers_in_words(set(brokers[0]))} hold{'s' if len(brokers[0]) == 1 else ''}"


def _brokers_in_words(broker_ids: set[int]) -> str:
    return f"broker{'' if len(broker_ids) == 1 else 's'} {ranges(broker_ids)}"


def _group_key(members: Members) -> tuple[int, int, int, str]:
    group = members.group
    return _WORST_FIRST.index(group.status), -group.total.at_least, -group.partitions, group.topics.named[0].topic
