# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the last section of a page: what to do next, with commands. Pure.

The documents do not say how a host connects to the cluster, so each command has the addresses of brokers that were
online, and a person adds the other options of the connection.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._model.partition import BrokerState
from .._model.variable import set_variable
from .._recovery.groups import count_writable, rules_of_refusals, total_loss
from .._recovery.next_steps import SURVEYED, AfterRun, Commands, list_steps, salvage_command
from .._recovery.next_way import Return, find_returns
from .._recovery.outcome import Outcome
from .._recovery.plan import DONE, Status
from .blocks import NextStep, ReportParagraph, Section, Steps
from .sources import DocumentKind, Skipped

_MAX_SERVERS = 5
_AGAIN = {
    DocumentKind.READINESS: ("Follow the remedies, then check again.", "check_readiness"),
    DocumentKind.QUORUM: ("Follow the remedies under the findings, then check again.", "check_quorum"),
    DocumentKind.CLEANER: ("Look at the log cleaners again after a pass.", "recover_log_cleaners"),
    DocumentKind.LEADERSHIP: (
        "To give the brokers their leaderships back, look first, then run without --check.",
        "restore_leadership",
    ),
}


@dataclass(frozen=True, slots=True)
class Situation:
    """What the next steps depend on. All lists may be empty."""

    kinds: frozenset[DocumentKind]
    outcomes: Sequence[Outcome]
    is_offline: bool
    """Whether a survey found partitions without a leader that no later plan or run names."""
    brokers: Sequence[dict[str, Any]]
    """The brokers of the last report or survey that has some."""
    start_order: Sequence[dict[str, Any]]
    """The advice of the last survey: which broker to start first."""
    aftermath: Sequence[dict[str, Any]]
    plan_file: str | None
    """The absolute path of the last plan, if no run came after it."""
    saved_in: Sequence[str]
    """The absolute paths of salvages with records that were not given back."""
    damaged: Sequence[Skipped]

    @property
    def returns(self) -> tuple[Return, ...]:
        """The missing brokers that may return, most useful first."""
        awaited = {broker for each in self.outcomes if each.status not in DONE for broker in each.replicas}
        return find_returns(self.start_order, self._states, awaited)

    @property
    def _states(self) -> dict[int, str]:
        return {each["brokerId"]: each["state"] for each in self.brokers}

    @property
    def after(self) -> AfterRun:
        """What the steps of a recovery depend on."""
        statuses = {each.status.value for each in self.outcomes} | ({SURVEYED} if self.is_offline else set())
        writable = count_writable(self.outcomes)
        return AfterRun(
            statuses=statuses,
            returns=self.returns,
            states=self._states,
            offline_log_dirs={each["brokerId"]: dirs for each in self.brokers if (dirs := each.get("offlineLogDirs"))},
            unclean_elections={each["brokerId"]: each.get("uncleanElections") for each in self.brokers},
            elections_missing={each["brokerId"]: each.get("uncleanElectionsMissing", "") for each in self.brokers},
            start_order=self.start_order,
            is_unbounded=bool(total_loss(self.outcomes).unbounded),
            is_led_by_replaced=any(map(self._is_led_by_replaced, self.outcomes)),
            refused_by=rules_of_refusals(self.outcomes),
            lacking_replicas=writable.led - writable.writable - writable.unknown,
            aftermath={each["kind"] for each in self.aftermath},
        )

    def _is_led_by_replaced(self, outcome: Outcome) -> bool:
        """Return whether a partition is in doubt although the broker that leads it answered: its disk may be new."""
        leader = outcome.leader_before
        return (
            outcome.status is Status.UNKNOWN and leader is not None and self._states.get(leader) == BrokerState.ONLINE
        )


def build_next_section(situation: Situation) -> Section:
    """Build the checklist. It is never empty: a person must see that nothing is left to do."""
    steps = tuple(_steps(situation))
    note = ReportParagraph(
        "Add the options with which you connect to this cluster, such as kafka_command_config. Replace what is written "
        "in capitals."
    )
    return Section("Next", (Steps(steps), *([note] if any(each.command for each in steps) else [])))


def _steps(situation: Situation) -> Iterator[NextStep]:
    for each in situation.damaged:
        yield NextStep(f"Find out what {each.path} is: it could not be read, and may belong to this incident.")
    after = situation.after
    for text, words in list_steps(after, _commands(situation)):
        yield NextStep(text, shlex.join(words))
    if not situation.outcomes:
        for document, (text, playbook) in _AGAIN.items():
            if document in situation.kinds:
                check = ["--check"] if document is DocumentKind.LEADERSHIP else []
                yield NextStep(text, shlex.join([*_playbook(playbook, situation), *check]))
    if not {*after.statuses} - DONE and DocumentKind.READINESS not in situation.kinds:
        command = shlex.join(_playbook("check_readiness", situation))
        yield NextStep("Check that a recovery would work in the next outage.", command)


def _commands(situation: Situation) -> Commands:
    plan_file = situation.plan_file
    plan = set_variable("unclean_recovery_plan_file", plan_file)
    elect = set_variable("unclean_recovery_automated_recovery", "true")
    replay = _playbook("replay_salvaged_records", situation)
    return Commands(
        look=_playbook("recover_offline_partitions", situation),
        recover=_playbook("recover_offline_partitions", situation, *plan, *elect) if plan_file else (),
        salvage=salvage_command(_connection(situation)),
        redundancy=_playbook("restore_redundancy", situation),
        groups=_playbook("restore_groups", situation),
        replays=[[*replay, *set_variable("salvage_replay_dir", each), "--check"] for each in situation.saved_in],
        plan_file=plan_file or "",
    )


def _playbook(name: str, situation: Situation, *words: str) -> list[str]:
    return ["ansible-playbook", f"kafkaops.recovery.{name}", *_connection(situation), *words]


def _connection(situation: Situation) -> Sequence[str]:
    return set_variable("kafka_bootstrap_servers", _servers(situation))


def _servers(situation: Situation) -> str:
    online = [
        f"{each['host']}:{each['port']}"
        for each in situation.brokers
        if each["state"] == BrokerState.ONLINE and each["host"] is not None
    ]
    return ",".join(online[:_MAX_SERVERS]) or "BROKER:9092"
