# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the last section of a page: what to do next, with commands. Pure; standard library only.

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
from .._recovery.groups import total_loss
from .._recovery.next_way import How, Return, describe_first, find_returns
from .._recovery.outcome import Outcome
from .._recovery.plan import DONE, Status
from .blocks import NextStep, ReportParagraph, Section, Steps, format_ids
from .sources import DocumentKind, Skipped

_MAX_SERVERS = 5
_OF_CLIENTS = {"committed_beyond_end", "committed_before_start", "open_transaction", "state_lost"}
_GROUPS = (
    "Groups may have lost their place, or transactions may hang: read_committed consumers stop there. Look: it prints "
    "how to repair it."
)
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
    """Whether a survey found partitions without a leader, and no plan or run is known."""
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
        return find_returns(self.start_order, {each["brokerId"]: each["state"] for each in self.brokers})


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
    statuses = {each.status for each in situation.outcomes}
    is_any_left = situation.is_offline or bool(statuses - DONE)
    yield from _save_disks(situation, statuses)
    if is_any_left:
        yield from _let_return(situation.returns)
    if Status.WOULD_RECOVER in statuses and situation.plan_file is not None:
        plan = set_variable("unclean_recovery_plan_file", situation.plan_file)
        elect = set_variable("unclean_recovery_automated_recovery", "true")
        command = _playbook("recover_offline_partitions", situation, *plan, *elect)
        yield NextStep("Let a second person review the plan, then carry it out.", command)
    elif is_any_left:
        text = "Look again. It changes nothing, and prints what each partition would cost and the next command."
        yield NextStep(text, _playbook("recover_offline_partitions", situation))
    for directory in situation.saved_in:
        command = _playbook("replay_salvaged_records", situation, *set_variable("salvage_replay_dir", directory))
        yield NextStep("Give the saved records back: look first, then run without --check.", f"{command} --check")
    kinds = {each["kind"] for each in situation.aftermath}
    if kinds & _OF_CLIENTS:
        yield NextStep(_GROUPS, _playbook("restore_groups", situation))
    if not situation.outcomes:
        for document, (text, playbook) in _AGAIN.items():
            if document in situation.kinds:
                check = " --check" if document is DocumentKind.LEADERSHIP else ""
                yield NextStep(text, _playbook(playbook, situation) + check)
    if not is_any_left and DocumentKind.READINESS not in situation.kinds:
        yield NextStep("Check that a recovery would work in the next outage.", _playbook("check_readiness", situation))


def _save_disks(situation: Situation, statuses: set[Status]) -> Iterator[NextStep]:
    away = [each["brokerId"] for each in situation.brokers if each["state"] != BrokerState.ONLINE]
    if Status.RECOVERED not in statuses or not away or not total_loss(situation.outcomes).unbounded:
        return
    words = (
        "-i",
        "INVENTORY",
        *set_variable("log_salvage_hosts", "HOST"),
        *set_variable("log_salvage_log_dirs", "LOG_DIR"),
    )
    command = _playbook("salvage_logs", situation, *words, *set_variable("log_salvage_dir", "NEW_DIR"))
    yield NextStep(
        f"Before any of these brokers is started, save the records that only its disk may hold: {format_ids(away)}. A "
        "broker that starts deletes records that the new leaders lack.",
        command,
    )


def _let_return(returns: Sequence[Return]) -> Iterator[NextStep]:
    """Yield how the missing broker that helps most returns, or, if only states are known, which ones may be started."""
    if returns and returns[0].advice:
        first = describe_first(returns)
        disk = " Start it only with its old disk." if returns[0].how is How.START else ""
        yield NextStep(f"{first[0].upper()}{first[1:]}: {returns[0].advice['explanation'].rstrip('.')}.{disk}")
        return
    missing = [each.broker_id for each in returns if each.how is How.START]
    if missing:
        name = "broker" if len(missing) == 1 else "brokers, one at a time:"
        yield NextStep(f"If it can be, start with its old disk {name} {format_ids(missing)}.")


def _playbook(name: str, situation: Situation, *words: str) -> str:
    servers = set_variable("kafka_bootstrap_servers", _servers(situation))
    return shlex.join(["ansible-playbook", f"kafkaops.recovery.{name}", *servers, *words])


def _servers(situation: Situation) -> str:
    online = [
        f"{each['host']}:{each['port']}"
        for each in situation.brokers
        if each["state"] == BrokerState.ONLINE and each["host"] is not None
    ]
    return ",".join(online[:_MAX_SERVERS]) or "BROKER:9092"
