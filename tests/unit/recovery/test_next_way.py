# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Terminal and page offer one way, for every reason of a refusal and every state of the missing broker."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Broker, BrokerState, Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import utc_now
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import to_json_types
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import SilentReplica
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.decide import decide
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.next_way import How, find_returns
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import Outcome, outcomes_of_plan
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import (
    LeftAlone,
    Plan,
    Status,
    leave_alone,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.start_order import (
    describe_advice,
    find_start_order,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.blocks import NextStep
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.next_section import (
    Situation,
    build_next_section,
)
from ansible_collections.kafkaops.recovery.plugins.plugin_utils import recovery_page
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.next_steps import next_commands
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.rendering import rendered
from unit.plugin_utils.results import a_recovery
from unit.recovery import outages
from unit.recovery.wreckage import an_offline_partition

MISSING = 1
REFUSALS: dict[str, dict[str, Any]] = {
    "balanced waits for the ELR": {"elr": (1,)},
    "balanced waits for the last ISR": {"isr": (1,), "elr": None, "last_known_elr": None},
    "balanced waits for the last known ELR": {"last_known_elr": (1,)},
    "balanced waits for all replicas": {"last_known_elr": None},
    "none never risks a loss": {"strategy": Strategy.NONE},
    "more records are lost than allowed": {
        "strategy": Strategy.AGGRESSIVE,
        "limits": {"max_lost_records": 0},
        "logs": [(3, ((0, 100), (2, 110))), (2, ((0, 105),))],
    },
    "no estimate is allowed": {"strategy": Strategy.AGGRESSIVE, "limits": {"max_estimated_loss": 0}},
    "the leader would be empty": {"strategy": Strategy.AGGRESSIVE, "logs": [(2, ((0, 0),)), (3, ((0, 0),))]},
    "all that answered are fenced": {"strategy": Strategy.AGGRESSIVE, "offline": (1, 2, 3)},
    "no replica answered": {"strategy": Strategy.AGGRESSIVE, "logs": []},
}
"""What the policy and the partition are, for each rule that leaves a partition without an election."""
BROKERS: dict[str, Callable[[Broker], Broker]] = {
    "silent": lambda each: each,
    "declared lost": lambda each: replace(each, state=BrokerState.GIVEN_UP),
    "runs with a dead directory": lambda each: replace(
        each, is_fenced=False, state=BrokerState.ONLINE, cause="log directory is offline: /b"
    ),
    "runs and is fenced": lambda each: replace(each, state=BrokerState.ONLINE, cause=""),
    "runs and hangs": lambda each: replace(each, state=BrokerState.HUNG),
    "runs and refuses us": lambda each: replace(each, state=BrokerState.NOT_AUTHORIZED),
}
_START = re.compile(r"(?<!not )(?:\bstart(?: it| with its old disk)?|should be started\b)[^.;]*", re.IGNORECASE)


def outcome_of(refusal: str, *, is_declared: bool) -> Outcome:
    """Return what is decided on a partition that has lost its leader with broker 1."""
    given = dict(REFUSALS[refusal])
    policy = Policy(given.pop("strategy", Strategy.BALANCED), **given.pop("limits", {}))
    logs = given.pop("logs", [(3, ((0, 15),)), (2, ((0, 10),))])
    state = an_offline_partition(**{"offline": (MISSING,), **given})
    silent = {*state.replicas} - {broker for broker, _lineage in logs}
    cause = Cause.GIVEN_UP if is_declared else Cause.UNREACHABLE
    away = tuple(SilentReplica(each, cause if each == MISSING else Cause.UNREACHABLE, "") for each in sorted(silent))
    decision = decide(state, outages.ranked(logs), away, policy)
    if isinstance(decision, LeftAlone):
        return outcomes_of_plan(Plan("cluster", utc_now(), (), (decision,)))[0]
    return outcomes_of_plan(Plan("cluster", utc_now(), (decision,), ()))[0]


def terminal_and_page(outcome: Outcome, brokers: Sequence[Broker], declared: Sequence[int]) -> tuple[str, str]:
    """Return what the terminal prints, and the steps of the page."""
    state = an_offline_partition(elr=(MISSING,), offline=(MISSING,))
    order = [
        {**to_json_types(each), "explanation": describe_advice(each)} for each in find_start_order([state], brokers)
    ]
    commands = next_commands({"kafka_bootstrap_servers": "kafka2:9092", "unclean_recovery_lost_brokers": declared})
    blocks = recovery_page.blocks(a_recovery([outcome], brokers), commands=commands, start_order=order, rows=False)
    return rendered(blocks, 300, color=False).partition("\nBrokers: ")[0], page_of([outcome], brokers, order)


def page_of(outcomes: Sequence[Outcome], brokers: Sequence[Broker], order: Sequence[dict[str, Any]]) -> str:
    """Return the steps of the page."""
    situation = Situation(
        kinds=frozenset(),
        outcomes=outcomes,
        is_offline=False,
        brokers=[{**to_json_types(each), "brokerId": each.broker_id} for each in brokers],
        start_order=order,
        aftermath=[],
        plan_file=None,
        saved_in=[],
        damaged=[],
    )
    steps = [step for block in build_next_section(situation).blocks for step in getattr(block, "steps", ())]
    assert all(isinstance(each, NextStep) for each in steps)
    return "\n".join(each.text for each in steps)


@pytest.mark.parametrize(("refusal", "kind"), [*product(REFUSALS, BROKERS)])
def test_one_way_is_offered_and_it_follows_from_the_refusal(refusal: str, kind: str) -> None:
    is_declared = kind == "declared lost"
    first, *others = outages.brokers()
    brokers = [BROKERS[kind](first), *others]
    outcome = outcome_of(refusal, is_declared=is_declared)
    terminal, page = terminal_and_page(outcome, brokers, [MISSING] if is_declared else [])
    is_left = outcome.status is not Status.WOULD_RECOVER
    assert is_left or is_declared, "only a declared broker is not waited for"
    for text in (terminal, page):
        named = [each for each in _START.findall(text) if "only with its old disk" not in each]
        assert any("1" in each for each in named) is (kind == "silent"), text
    ways = ["See what it costs to elect" in terminal, "Then look again" in terminal, "Follow the reasons" in terminal]
    assert sum(ways) == is_left, terminal
    in_page = ["Then look again" in page, "Follow the reasons" in page]
    # The page does not know the variables of the run, and so offers no other strategy.
    assert in_page == [ways[1], ways[0] or ways[2]], page
    if is_declared and is_left:
        assert "Then look again" not in terminal, "nothing changes before the next look"
    assert ("Repair the offline log directory of broker 1" in terminal) is (kind == "runs with a dead directory")
    runs = kind in ("runs and is fenced", "runs and hangs", "runs and refuses us")
    assert ("Find out what keeps broker 1" in terminal) is runs


def test_every_refusal_is_one() -> None:
    reasons = {name: outcome_of(name, is_declared=False) for name in REFUSALS}
    assert {each.status for each in reasons.values()} <= {Status.REFUSED, Status.UNRECOVERABLE, Status.UNKNOWN}
    assert len({each.reason for each in reasons.values()}) == len(REFUSALS)


def test_disks_are_saved_before_a_broker_starts_if_another_leader_seems_to_have_a_new_disk() -> None:
    brokers = outages.brokers()
    led = an_offline_partition(partition=1, isr=(2,))._replace(leader_id=2)
    doubtful = leave_alone(led, Status.UNKNOWN, "its disk seems to have been replaced")
    waiting = outcome_of("balanced waits for the ELR", is_declared=False)
    outcomes = [waiting, *outcomes_of_plan(Plan("cluster", utc_now(), (), (doubtful,)))]
    assert page_of(outcomes, brokers, []).startswith("Before broker 1 is started: save")


@pytest.mark.parametrize("state", BrokerState)
def test_without_a_survey_only_brokers_that_neither_run_nor_are_lost_are_started(state: BrokerState) -> None:
    found = find_returns([], {1: state}, [1])
    is_started = any(each.how is How.START for each in found)
    assert is_started is (state in (BrokerState.FENCED, BrokerState.UNREACHABLE))
