# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare a prediction of the stop gate with the partitions before and after exactly these brokers were stopped."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.stop_prediction import StopReasonKind
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.gate import Answer, Gate
from campaign.stops.states import Partition, States, Topic

_ABOUT_PARTITIONS = {
    StopReasonKind.LAST_COPY,
    StopReasonKind.NO_LEADER,
    StopReasonKind.UNCLEAN_ELECTION,
    StopReasonKind.BELOW_MIN_ISR,
    StopReasonKind.LOST_RECORDS,
    StopReasonKind.ALREADY_LEADERLESS,
    StopReasonKind.REASSIGNMENT,
}


@dataclass
class Verdict:
    """The counts of one seed. ``unequal`` and ``not_judged`` must be 0."""

    seed: int
    kafka_version: str
    sets: int = 0
    """Sets that were predicted, and then stopped."""
    unequal: int = 0
    """Of these, how many had another outcome than the prediction."""
    yes: int = 0
    """Of the sets, those that may stop."""
    recent: int = 0
    """Sets that were asked about before the controller had noticed the last event."""
    partitions: int = 0
    """Partitions of the brokers that were stopped."""
    leaderless: int = 0
    """Of these, those that lost their leader by it, and those that got below min ISR, and so on."""
    below_min_isr: int = 0
    unclean: int = 0
    last_copies: int = 0
    lost_records: int = 0
    leaders_moved: int = 0
    lagging: int = 0
    """Sets with a replica on a broker that was up and not in sync."""
    dead_disks: int = 0
    """Sets with a partition that had a replica on a dead disk of a broker that was up."""
    reassignments: int = 0
    """Sets with a partition that was being reassigned."""
    quorums_lost: int = 0
    """Sets that cost combined nodes the majority of the controllers."""
    not_judged: int = 0
    """Aborted by the lab."""
    notes: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    seconds: float = 0.0
    commit: str = ""

    def __str__(self) -> str:
        equal = f"{self.sets - self.unequal} of {self.sets} sets equal"
        return f"{self.kafka_version}, seed {self.seed}, {equal}, {self.yes} yes"

    def count_lost_quorum(self, gate: Gate, stopped: Collection[int]) -> None:
        """Count a set that cost the controllers their majority: the answer must say so."""
        self.sets += 1
        self.quorums_lost += 1
        if not any(each.kind is StopReasonKind.QUORUM for each in gate.reasons):
            self.unequal += 1
            self.notes.append(f"{sorted(stopped)}: the quorum is lost, and the reasons are {gate.reasons}")

    @property
    def is_clean(self) -> bool:
        return not (self.unequal or self.not_judged)


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """A set of brokers that was stopped, and the partitions before and after."""

    gate: Gate
    topics: Mapping[str, Topic]
    before: States
    after: States
    ends_before: Mapping[Partition, int]
    """The log end offsets of the leaders. Nobody writes in between."""
    ends_after: Mapping[Partition, int]
    stopped: frozenset[int]
    down: frozenset[int]
    """Brokers that were down already."""
    reassigned: Collection[Partition]
    is_recent: bool
    """Whether the controller had perhaps not noticed the last event when ``before`` was read."""

    @property
    def touched(self) -> set[Partition]:
        """The partitions of which a replica was stopped."""
        return {key for key, each in self.before.items() if self.stopped & {*each.replicas} - {*each.offline_replicas}}

    @property
    def leaderless(self) -> set[Partition]:
        return {key for key in self.touched if self.after[key].leader is None}

    @property
    def unclean(self) -> set[Partition]:
        """The partitions whose leader was not in sync when these brokers were stopped."""
        led = {key for key in self.touched - self.leaderless if self.before[key].leader is not None}
        return {key for key in led if self.after[key].leader not in {*self.before[key].isr, *self.before[key].elr}}

    @property
    def below_min_isr(self) -> set[Partition]:
        return {key for key in self.touched - self.leaderless if self.margin_of(key) < 0}

    @property
    def last_copies(self) -> set[Partition]:
        """The partitions without a replica on a disk of a broker that is up."""
        return {key for key in self.touched if {*self.after[key].replicas} <= {*self.after[key].offline_replicas}}

    @property
    def moved(self) -> set[Partition]:
        """The partitions whose leader was stopped, and that have another one."""
        return {key for key in self.touched - self.leaderless if self.before[key].leader in self.stopped}

    @property
    def lost_records(self) -> set[Partition]:
        """The partitions whose new leader lacks records of the one that was stopped."""
        return {key for key in self.moved if self.ends_after[key] < self.ends_before[key]}

    def margin_of(self, key: Partition) -> int:
        """Return the margin at the stop: without replicas that got in sync later, as after an unclean election."""
        state = self.after[key]
        in_sync = {*self.before[key].isr} & {*state.isr} | {state.leader}
        return len(in_sync) - min(self.topics[key[0]].min_isr, len(state.replicas))

    def differences(self) -> Iterator[str]:
        """Yield how the outcome differs from the prediction."""
        named = self._named
        stop = self.gate.stops[0]
        was_led = {key for key in self.touched if self.before[key].leader is not None}
        happened = {
            "have no leader": (named(StopReasonKind.NO_LEADER, StopReasonKind.ALREADY_LEADERLESS), self.leaderless),
            "got a leader that was not in sync": (named(StopReasonKind.UNCLEAN_ELECTION), self.unclean),
            "are below min ISR": (named(StopReasonKind.BELOW_MIN_ISR), self.below_min_isr),
            "have no copy left": (named(StopReasonKind.LAST_COPY), self.last_copies),
            "lost records": (named(StopReasonKind.LOST_RECORDS), self.lost_records),
        }
        if not self.is_recent:
            happened["lost their leader"] = (named(StopReasonKind.NO_LEADER), self.leaderless & was_led)
        for what, (predicted, found) in happened.items():
            if predicted != found:
                yield f"{what}: predicted {sorted(predicted)}, and it was {sorted(found)}"
        reassigned = named(StopReasonKind.REASSIGNMENT)
        if not reassigned <= {*self.reassigned}:
            yield f"reassigned: {sorted(reassigned)}, and only these were: {sorted(self.reassigned)}"
        other = sorted({each.kind for each in self.gate.reasons} - _ABOUT_PARTITIONS)
        if other:
            yield f"reasons without a cause: {[each.text for each in self.gate.reasons if each.kind in other]}"
        if (self.gate.verdict is Answer.YES) == bool(self.gate.reasons):
            yield f"the answer is {self.gate.verdict}, with the reasons {self.gate.reasons}"
        if self.is_recent:
            return
        if stop.leaders_that_move != len(self.moved):
            yield f"{stop.leaders_that_move} leaders were to move, and {len(self.moved)} did"
        margin = min((self.margin_of(key) for key in was_led - self.leaderless), default=None)
        if stop.margin != margin:
            yield f"the margin was to be {stop.margin}, and is {margin}"
        for key in self.before.keys() - self.touched:
            if self.before[key].leader != self.after[key].leader:
                yield f"{key} has no replica on these brokers, and its leader is another one"

    def count(self, verdict: Verdict) -> None:
        """Add this set to the counts of its seed."""
        differences = [*self.differences()]
        verdict.sets += 1
        verdict.unequal += bool(differences)
        verdict.notes += [f"{sorted(self.stopped)}: {each}" for each in differences]
        if differences:
            verdict.notes += [f"    {each}" for each in self.gate.notes]
            keys = {key for key in self.touched for each in differences if str(key) in each}
            verdict.notes += [f"    {key}: {self.before[key]} -> {self.after[key]}" for key in sorted(keys)]
        verdict.yes += self.gate.verdict is Answer.YES
        verdict.recent += self.is_recent
        verdict.partitions += len(self.touched)
        verdict.leaderless += sum(self.before[key].leader is not None for key in self.leaderless)
        verdict.below_min_isr += len(self.below_min_isr)
        verdict.unclean += len(self.unclean)
        verdict.last_copies += len(self.last_copies)
        verdict.lost_records += len(self.lost_records)
        verdict.leaders_moved += len(self.moved)
        states = [self.before[key] for key in self.touched]
        up = {*self.before_live}
        verdict.lagging += any(up & {*each.replicas} - {*each.isr} - {*each.offline_replicas} for each in states)
        verdict.dead_disks += any(up & {*each.offline_replicas} for each in states)
        verdict.reassignments += bool(self._named(StopReasonKind.REASSIGNMENT))

    @property
    def before_live(self) -> set[int]:
        return {broker for each in self.before.values() for broker in each.replicas} - self.down

    def _named(self, *kinds: StopReasonKind) -> set[Partition]:
        return {
            (one.topic, one.partition) for each in self.gate.reasons if each.kind in kinds for one in each.partitions
        }
