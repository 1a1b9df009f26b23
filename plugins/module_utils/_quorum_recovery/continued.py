# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Continue a recovery that was begun and not verified, or say why it must not go on.

Time has passed since the plan was made. Old voters may have come back, and may lead with the brokers. So what was
required before the first change is required again, until the controller was started with the new voters. From then
on, other controllers may run: they were added to the recovered quorum. No I/O.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .._model.reasons import plural
from .copy import CopyState, LogCopy
from .journal import RecoveryStep
from .plan import (
    QuorumDecision,
    QuorumPlan,
    format_voters,
    name_controller,
    notes_on_others,
    overtaken_that_run,
)
from .refusals import name_ids

_GIVE_UP = "to give the recovery up instead, run again with quorum_recovery_restore_backup"


@dataclass(frozen=True, slots=True)
class BegunRecovery:
    """A journal, and the copy of the metadata log beside it."""

    plan: QuorumPlan
    step: RecoveryStep
    copy: LogCopy

    @property
    def ran_with_old_voters(self) -> bool:
        """Whether the controller was started before its voters were changed, and has read or written more since.

        Then nothing is to be put back, and the backup lacks what came since.
        """
        if self.step is not RecoveryStep.CHANGING or self._end_offset <= self.plan.end_offset:
            return False
        if self.plan.voter is not None:
            return not any(
                each.epoch == self.plan.new_epoch and each.start_offset <= self.plan.end_offset < each.end_offset
                for each in self.copy.lineage_ranges
            )
        there = format_voters(self.copy.static_voters)
        return any(each.host == self.plan.host and there == each.before for each in self.plan.voters_changes)

    @property
    def has_led(self) -> bool:
        """Whether the controller has written anything with its new voters."""
        return self._end_offset > self.plan.changed_end_offset and not self.ran_with_old_voters

    @property
    def was_started(self) -> bool:
        """Whether the controller runs, or has led, with its new voters: nothing more is to be changed."""
        return self.has_led or (self.step is RecoveryStep.CHANGED and self.copy.is_running)

    @property
    def is_over(self) -> bool:
        """Whether others were added since, and the controller is stopped. What is lost now is another loss."""
        return self.step is RecoveryStep.CHANGED and self.has_led and not self.copy.is_running and bool(self.added)

    @property
    def added(self) -> frozenset[int]:
        """The voters that were added since the controller has led."""
        if not self.has_led:
            return frozenset()
        now = self.copy.voters if self.plan.is_dynamic else self.copy.static_voters
        return frozenset(each.voter_id for each in now) - {self.plan.node_id}

    @property
    def _end_offset(self) -> int:
        return self.copy.log_end_offset or 0


def continue_recovery(
    begun: BegunRecovery, copies: Sequence[LogCopy], answering: Mapping[int, str], answered_by_others: Collection[int]
) -> QuorumDecision:
    """Return the plan of the begun recovery, with each reason against going on.

    Args:
        begun: what was begun.
        copies: what each host has.
        answering: where something answers for a voter, by its id.
        answered_by_others: ids of lost voters at whose addresses something else answers, as the operator says.
    """
    plan = begun.plan
    others = {x: at for x, at in answering.items() if x in answered_by_others and x in plan.lost_voters}
    answering = {voter: where for voter, where in answering.items() if voter not in others}
    notes = ["a recovery was begun with this plan, and was not verified", *notes_on_others(others)]
    refusals: list[str] = []
    must_stop: list[str] = []
    # A broker may have the id of a controller: Kafka does not compare it with those of dynamic voters.
    controllers = [each for each in copies if each.is_controller]
    if begun.was_started and begun.copy.is_running:
        notes += _notes_on_returned(begun, controllers, answering)
    else:
        refusals += _returned(begun, controllers, answering)
    if not begun.was_started:
        refusals += _too_many(begun, controllers)
        refusals += _went_on(begun, copies)
        voters = {each.voter_id for each in plan.old_voters} - {*plan.lost_voters}
        running = [each for each in controllers if each.is_running and each.node_id in voters]
        must_stop += map(name_controller, running)
        must_stop += overtaken_that_run(copies, running, plan.forgets)
        must_stop += _answering_elsewhere(begun, controllers, answering)
    if begun.ran_with_old_voters:
        refusals.append(
            f"controller {plan.node_id} on {begun.copy.host} was started with its old voters after the killed run: "
            "end the recovery with quorum_recovery_restore_backup, which keeps its log as it is now"
        )
    return QuorumDecision(plan, tuple(refusals), tuple(must_stop), plan.forgets, tuple(notes))


def absent_hosts(begun: BegunRecovery, copies: Sequence[LogCopy], unread: Mapping[str, str]) -> Iterator[str]:
    """Yield why hosts that the plan changes cannot be changed or put back by this run: they are not in it.

    Args:
        begun: what was begun.
        copies: what each host of the run has.
        unread: the hosts of the run that could not be read, with the reason.
    """
    there = {each.host for each in copies}
    plan = begun.plan
    needed = {plan.host, *(each.host for each in plan.voters_changes)} - there
    if plan.host in needed and begun.copy.host != plan.host:
        needed.remove(plan.host)
        yield (
            f"the journal on {begun.copy.host} ({begun.copy.log_dir}) was begun as {plan.host}: give the host that "
            "name in the inventory of this run"
        )
    missing = sorted(needed - unread.keys())
    if missing:
        yield (
            f"the recovery that was begun changes {', '.join(missing)} too, and this run lacks "
            f"{'it' if len(missing) == 1 else 'them'}: run it for all of its hosts (quorum_recovery_hosts, --limit), "
            "by the names of the inventory with which it was begun"
        )
    for host in sorted(needed & unread.keys()):
        yield f"the recovery that was begun changes {host} too, and it could not be read: {unread[host]}"


def _returned(begun: BegunRecovery, copies: Sequence[LogCopy], answering: Mapping[int, str]) -> Iterator[str]:
    """Yield the lost voters that are back with their old disks, as far as it is known."""
    give_up = "" if begun.has_led else f"; {_GIVE_UP}"
    for voter, here in _lost_voters(begun, copies):
        if voter in answering:
            yield (
                f"voter {voter} answers at {answering[voter]}: stop it, because it may lead with its old voters, and "
                f"controller {begun.plan.node_id} would be a second quorum{give_up}. Only if you have seen that "
                f"another program answers there, such as a load balancer, add {voter} to "
                "quorum_recovery_answered_by_others"
            )
        elif here is not None and here.is_running:
            yield f"voter {voter} runs on {here.host} ({here.log_dir} is locked): stop it{give_up}"


def _notes_on_returned(begun: BegunRecovery, copies: Sequence[LogCopy], answering: Mapping[int, str]) -> Iterator[str]:
    for voter, here in _lost_voters(begun, copies):
        where = answering.get(voter) or (here.host if here is not None and here.is_running else "")
        if where:
            yield (
                f"voter {voter} answers at {where}. If it runs with its old disk, stop it: two such controllers could "
                "lead with the old voters"
            )


def _lost_voters(begun: BegunRecovery, copies: Sequence[LogCopy]) -> Iterator[tuple[int, LogCopy | None]]:
    """Yield the lost voters that were not added again and are not known to have a new disk, and their copies."""
    for voter in begun.plan.lost_voters:
        found = [each for each in copies if each.node_id == voter]
        old = [each for each in found if _has_old_disk(begun.plan, each)]
        if voter not in begun.added and (old or not found):
            yield voter, max(old, key=lambda each: each.is_running, default=None)


def _has_old_disk(plan: QuorumPlan, copy: LogCopy) -> bool:
    """Return whether a voter may have the disk that it had in the old quorum. A static quorum does not say so."""
    known = next((each.directory_id for each in plan.old_voters if each.voter_id == copy.node_id), None)
    return None in (known, copy.directory_id) or known == copy.directory_id


def _too_many(begun: BegunRecovery, copies: Sequence[LogCopy]) -> Iterator[str]:
    plan = begun.plan
    before = {each.voter_id for each in plan.old_voters}
    whole = {
        each.node_id
        for each in copies
        if each.state is CopyState.WHOLE
        and each.log_end_offset
        and each.cluster_id == plan.cluster_id
        and _has_old_disk(plan, each)
    }
    kept = sorted(before & {plan.node_id, *whole})
    majority = len(before) // 2 + 1
    if len(kept) >= majority:
        yield (
            f"the disks of {name_ids('controller', kept)} are whole, and {majority} of "
            f"{plural(len(before), 'voter', 'are')} a majority: run again with quorum_recovery_restore_backup, and "
            "then start them"
        )


def _went_on(begun: BegunRecovery, copies: Sequence[LogCopy]) -> Iterator[str]:
    """Yield the copies with records that the plan does not know, and whose epoch its change may have, too."""
    plan = begun.plan
    for each in copies:
        is_other = each.host != begun.copy.host and each.cluster_id == plan.cluster_id
        if is_other and each.last_epoch > plan.highest_epoch:
            yield (
                f"node {each.node_id} on {each.host} has records of epoch {each.last_epoch}, and when the recovery was "
                f"planned, none was above {plan.highest_epoch}: old voters have led since then, or this host was not "
                f"in the run. They would be forgotten without a word; {_GIVE_UP}, and look again"
            )


def _answering_elsewhere(
    begun: BegunRecovery, copies: Sequence[LogCopy], answering: Mapping[int, str]
) -> Iterator[str]:
    """Yield the old voters that answer, were not declared lost, and are on no host of the run."""
    here = {each.node_id for each in copies}
    for voter, where in sorted(answering.items()):
        if voter not in {*here, *begun.plan.lost_voters, begun.plan.node_id}:
            yield f"controller {voter}, which answers at {where}"
