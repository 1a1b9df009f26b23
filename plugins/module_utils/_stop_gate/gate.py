# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answer whether brokers may stop, with every reason against it, and build the report. It has no secret. Pure.

Standard library only. Schema: docs/schemas/stop-gate-report.schema.json.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from .._documents.dataclass_json import timed_report
from .._model.fields import (
    INT32_MAX,
    BrokerId,
    ClusterId,
    Count,
    Meta,
    NodeId,
    PartitionIndex,
    TopicName,
)
from .._model.partition import RUNNING_STATES, Broker, Racks, grouped
from .._model.reasons import name_brokers, name_partitions, plural
from .._model.replaced_disk import doubt_elections, name_replaced
from .._model.stop_prediction import ClusterView, Effect, Prediction, StopReasonKind, predict_stop
from .._model.stop_ticket import StopTicket
from .advice import Bears, Wave, largest_allowed


class Asked(StrEnum):
    """What was asked."""

    MAY_STOP = "may_stop"
    TAKE = "take"
    """May they stop? If yes, take a ticket."""
    RELEASE = "release"
    """Are they back in every ISR? If yes, release their ticket."""


class Answer(StrEnum):
    """May the brokers stop, or are they back?"""

    YES = "yes"
    NO = "no"


@dataclass(frozen=True, slots=True)
class PartitionName:
    """One partition."""

    topic: TopicName
    partition: PartitionIndex


Partitions = Annotated[
    tuple[Annotated[PartitionName, Meta(description="a partition is an object")], ...],
    Meta(description="the partitions are a list"),
]
Brokers = Annotated[tuple[BrokerId, ...], Meta(description="the brokers are a list of ids")]


@dataclass(frozen=True, slots=True)
class StopReason:
    """One reason against a stop, and all partitions that it is about."""

    kind: StopReasonKind
    brokers: Brokers
    """The brokers that were to stop together."""
    text: str
    remedy: str
    partitions: Partitions
    """Empty if the reason is not about partitions."""


@dataclass(frozen=True, slots=True)
class Led:
    """How many partitions a broker leads now."""

    broker_id: BrokerId
    partitions: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """What would happen when some brokers stop together."""

    brokers: Brokers
    verdict: Answer
    partitions: Count
    """How many partitions have a replica on these brokers."""
    leaders_that_move: Count
    led: Annotated[
        tuple[Annotated[Led, Meta(description="a broker's count is an object")], ...],
        Meta(description="the counts are a list"),
    ]
    """How many partitions each of these brokers leads now."""
    margin: Annotated[int, Meta("a margin", minimum=-INT32_MAX, maximum=INT32_MAX)] | None
    """How many more in-sync replicas every one of these partitions could lose and still take records with acks=all."""
    controllers: Annotated[tuple[NodeId, ...], Meta(description="the controllers are a list of ids")]
    """The voters among these nodes."""
    controllers_to_spare: Annotated[int, Meta("a number of voters", minimum=-INT32_MAX, maximum=INT32_MAX)] | None
    """How many more caught-up voters could stop. Negative if there is no majority, None if the quorum is unknown."""
    part_that_may_stop: Brokers
    """The largest part of these brokers that may stop now."""
    changes: Annotated[tuple[str, ...], Meta(description="the changes are a list")]
    """What would make it a yes, the smallest change first."""


Tickets = Annotated[
    tuple[Annotated[StopTicket, Meta(description="a ticket is an object")], ...],
    Meta(description="the tickets are a list"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The answer. It is yes only if everything that it rests on could be read."""

    cluster_id: ClusterId
    asked: Asked = Asked.MAY_STOP
    verdict: Answer
    stops: Annotated[tuple[Stop, ...], Meta(description="the stops are a list")]
    """One for each set of brokers, in the order of the question."""
    reasons: Annotated[tuple[StopReason, ...], Meta(description="the reasons are a list")]
    """All reasons against all stops, worst first."""
    notes: Annotated[tuple[str, ...], Meta(description="the notes are a list")]
    """What is not as it should be, and is no reason against these stops."""
    waves: Annotated[tuple[Wave, ...], Meta(description="the waves are a list")]
    """An order in which all live brokers can stop, if those of one wave are back and in sync before the next one."""
    racks: Racks = ()
    in_no_wave: Brokers
    """Live brokers that may not stop, not even alone."""
    tickets: Tickets
    """The tickets that are valid at the end, the oldest first."""
    taken: Tickets = ()
    """The ticket that this run took, or would take in check mode."""
    released: Tickets = ()
    """The tickets that this run released, or would release in check mode."""


_TEXTS: Mapping[StopReasonKind, tuple[str, str]] = {
    StopReasonKind.LAST_COPY: (
        "{count} would have no replica on any broker that stays up: {names}",
        "Keep one of their brokers up, or give them replicas on other brokers first",
    ),
    StopReasonKind.NO_LEADER: (
        "{count} would have no leader: {names}",
        "Bring their other replicas in sync first, or keep one of their in-sync replicas up",
    ),
    StopReasonKind.UNCLEAN_ELECTION: (
        "{count} would get a leader that is not in sync, because unclean.leader.election.enable is true: {names}",
        "Bring their other replicas in sync first",
    ),
    StopReasonKind.BELOW_MIN_ISR: (
        "{count} would be below min.insync.replicas and refuse records with acks=all: {names}",
        "Bring their other replicas in sync first, or keep one of their in-sync replicas up",
    ),
    StopReasonKind.SILENT_LEADER: (
        "{count} would be led by a broker that does not answer this host, and may lack records or hang: {names}",
        "Wait until the broker answers, or until the controller has fenced it",
    ),
    StopReasonKind.ALREADY_LEADERLESS: (
        "a recovery may need a replica on these brokers, of {count} without a leader now: {names}",
        "Recover them first (playbook kafkaops.recovery.recover_offline_partitions)",
    ),
    StopReasonKind.REASSIGNMENT: (
        "a reassignment of {count} is running: {names}",
        "Wait until that is complete (kafka-reassign-partitions.sh --list)",
    ),
    StopReasonKind.UNKNOWN: (
        "min.insync.replicas or unclean.leader.election.enable could not be read for {count}: {names}",
        "Grant DESCRIBE_CONFIGS on their topics. If one was just created, run this again",
    ),
}
_ORDER = list(StopReasonKind)


def reason(
    kind: StopReasonKind, brokers: Sequence[int], text: str, remedy: str, states: Iterable[Any] = ()
) -> StopReason:
    """Return a reason with the partitions of ``states``, which have a topic and a partition."""
    names = tuple(PartitionName(each.topic, each.partition) for each in states)
    return StopReason(kind, tuple(brokers), text, remedy, names)


def reasons_of(prediction: Prediction, brokers: Sequence[int]) -> list[StopReason]:
    """Return a reason for each kind of effect."""
    found = []
    for kind, (text, remedy) in _TEXTS.items():
        states = prediction.of(kind)
        if states:
            count = plural(len(states), "partition")
            named = text.format(count=count, names=name_partitions(states))
            found.append(reason(kind, brokers, named, remedy, states))
    return found


def ticket_reason(brokers: Sequence[int], ticket: StopTicket) -> StopReason:
    """Return the reason that somebody else is stopping brokers."""
    wait = f"Wait until that ticket is released. It expires at {ticket.until}"
    return reason(StopReasonKind.TICKET, brokers, str(ticket), wait)


def worst_first(reasons: Iterable[StopReason]) -> tuple[StopReason, ...]:
    """Return the reasons in the order of their kinds."""
    return tuple(sorted(reasons, key=lambda each: _ORDER.index(each.kind)))


def smallest_changes(
    view: ClusterView, brokers: Sequence[int], bears: Bears
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the largest part of those of the brokers that are up and may stop now, and what would let all stop.

    Both rest on partitions and quorum; a reason of another kind says itself what to do.
    """
    bad = predict_stop(view, brokers).effects
    if not bad and bears(brokers):
        return (), ()
    up = [each for each in brokers if each in view.live]
    part = largest_allowed(view, up, bears)
    changes: list[str] = []
    if part:
        rest = [each for each in up if each not in part]
        back = f"{'it is' if len(part) == 1 else 'these are'} back and in sync"
        later = f", and {name_brokers(rest)} when {back}" if rest else ""
        changes.append(f"stop only {name_brokers(part)} now{later}")
    down = [each for each in view.brokers if each.broker_id not in view.live]
    keeps_a_broker = view.keeps_a_broker(brokers)
    if not keeps_a_broker and not down:
        return part, (*changes, "keep at least one broker up")
    if keeps_a_broker and not bears(brokers):
        return part, (*changes, "keep the controllers up that the quorum needs")
    repaired = view.repaired(with_down_brokers=False)
    if keeps_a_broker and not predict_stop(repaired, brokers).effects:
        return part, (*changes, _recover_and_wait(bad))
    whole = view.repaired(with_down_brokers=True)
    left = predict_stop(whole, brokers).effects
    if down and not left:
        to_save = sorted(view.to_save)
        saved = (
            f"save the disks of {name_brokers(to_save)} (playbook kafkaops.recovery.salvage_logs), then "
            if to_save
            else ""
        )
        wait = f"{saved}{_bring_back(down)}, and wait until all replicas are in sync"
        doubts = " ".join(_doubt_starts(down, to_save))
        changes.append(f"{wait}. {doubts}" if doubts else wait)
    elif left:
        names = name_partitions(sorted({each.state for each in left}))
        changes.append(
            "give these partitions more replicas, or a lower min.insync.replicas, because even with all replicas in "
            f"sync they do not bear it: {names}"
        )
    return part, tuple(changes)


def _recover_and_wait(bad: Sequence[Effect]) -> str:
    """Return what to do if brokers that are up hold all that is needed."""
    leaderless = any(each.kind is StopReasonKind.ALREADY_LEADERLESS for each in bad)
    recover = "recover the partitions without a leader (playbook kafkaops.recovery.recover_offline_partitions), then "
    names = name_partitions(sorted({each.state for each in bad}))
    wait = f"wait until all replicas on live brokers are in sync, and no reassignment runs: {names}"
    return f"{recover if leaderless else ''}{wait}"


def _bring_back(down: Iterable[Broker]) -> str:
    """Return what to do. A broker that runs is never to be started."""
    to_start, running = _split(down)
    steps = [f"start {name_brokers([each.broker_id for each in to_start])}"] if to_start else []
    if running:
        verb = "runs, does" if len(running) == 1 else "run, do"
        steps.append(f"find out why {name_brokers([each.broker_id for each in running])}, which {verb} not answer")
    return ", ".join(steps)


def _doubt_starts(down: Iterable[Broker], to_save: Collection[int]) -> Iterator[str]:
    """Yield what is not known of the brokers that are to be started, and are not ``to_save`` already."""
    to_start, _running = _split(down)
    unknown = [each for each in to_start if each.unclean_elections is None and each.broker_id not in to_save]
    for missing, found in grouped((each.unclean_elections_missing, each.broker_id) for each in unknown).items():
        doubt = doubt_elections(missing)
        if len(found) == 1:
            yield f"{name_brokers(found).capitalize()} does not run. {doubt}"
        else:
            yield f"{name_brokers(found).capitalize()} do not run. Of each, {doubt[0].lower()}{doubt[1:]}"


def _split(down: Iterable[Broker]) -> tuple[list[Broker], list[Broker]]:
    """Return the brokers that do not run, and those that run and do not answer us."""
    found = [*down]
    running = [each for each in found if each.state in RUNNING_STATES]
    return [each for each in found if each not in running], running


def notes_about(view: ClusterView) -> tuple[str, ...]:
    """Return what is not as it should be: brokers that are down, replicas that lag, reassignments."""
    notes = [] if view.states else ["no topic is visible: the answer rests on the brokers and the quorum alone"]
    notes += [
        f"broker {each.broker_id} is {each.state.words}, or still recovers its logs: {each.cause}"
        for each in view.brokers
        if each.broker_id not in view.live
    ]
    notes += name_replaced(view.replaced)
    lagging = grouped(
        (broker_id, state)
        for state in view.states
        for broker_id in view.live.intersection(state.replicas).difference(state.isr)
    )
    for broker_id, states in sorted(lagging.items()):
        count = plural(len(states), "partition")
        notes.append(f"broker {broker_id} is up, and not in sync in {count}: {name_partitions(states)}")
    leaderless = [each for each in view.states if each.is_offline]
    if leaderless:
        notes.append(f"{plural(len(leaderless), 'partition')} without a leader now: {name_partitions(leaderless)}")
    if view.reassignments:
        names = name_partitions(sorted(view.reassignments))
        notes.append(f"a reassignment of {plural(len(view.reassignments), 'partition')} is running: {names}")
    return tuple(notes)


STOP_GATE_REPORT, encode_gate_report = timed_report(
    "stop-gate-report",
    "Whether brokers may stop, and all reasons against it",
    Gate,
    "a report of the stop gate is an object",
)
