# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a person is told to do next after a look or a recovery."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Broker
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.next_steps import Commands
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import RefusedBy
from ansible_collections.kafkaops.recovery.plugins.plugin_utils import recovery_page
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.next_steps import next_commands
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.rendering import rendered
from unit.plugin_utils.results import COMMANDS, a_recovery, an_advice
from unit.recovery import outages


@pytest.mark.parametrize(
    ("dead", "is_recovered", "is_bounded", "text"),
    [
        ((1,), True, False, "1.  Before broker 1 is started: save the records that only its disks may hold."),
        ((1, 4), True, False, "1.  Before brokers 1, 4 are started: save the records that only their disks may hold."),
        ((1,), True, True, ""),
        ((1,), False, False, ""),
        ((), True, False, ""),
    ],
)
def test_disks_are_saved_before_their_broker_is_started(
    dead: Sequence[int], *, is_recovered: bool, is_bounded: bool, text: str
) -> None:
    outcome = outages.recovered(outages.losing(0)) if is_recovered else outages.losing(0)
    if is_bounded:
        outcome = replace(outcome, losses=tuple(replace(each, at_most=each.at_least) for each in outcome.losses))
    result = a_recovery([outcome], outages.brokers(4, dead=dead))
    shown = rendered(recovery_page.blocks(result, commands=COMMANDS, start_order=[], rows=False), 200, color=False)
    assert ("kafkaops.recovery.salvage_logs" in shown) == bool(text)
    assert text in shown


def with_a_dead_directory() -> list[Broker]:
    first, *others = outages.brokers(4, dead=())
    cause = "log directory is offline: /b (KAFKA_STORAGE_ERROR (error 56)); its replicas of 3 partitions are offline"
    return [replace(first, cause=cause, offline_log_dirs=("/b",)), *others]


@pytest.mark.parametrize(("given", "declared"), [([], "1"), ([4], "1,4"), ("4,7", "1,4,7")])
def test_an_offline_log_directory_is_repaired_and_its_broker_is_not_started(
    given: list[int] | str, declared: str
) -> None:
    result = a_recovery([outages.refused()], with_a_dead_directory())
    advice = {**an_advice(1, 3), "is_running": True}
    commands = next_commands({"unclean_recovery_lost_brokers": given})
    blocks = recovery_page.blocks(result, commands=commands, start_order=[advice], rows=False)
    shown = rendered(blocks, 300, color=False)
    assert "a log directory of broker 1 should be repaired first" in shown
    assert "Brokers: 4 of 4 online, 1 of them with offline replicas" in shown
    assert re.search(r"broker 1 +online \(rack rack-1\): log directory is offline: /b", shown)
    assert "Repair the offline log directory of broker 1 at kafka1.example.com:9092 (rack rack-1), which runs" in shown
    assert "start broker 1" not in shown.lower()
    added = f"add -e unclean_recovery_lost_brokers={declared}, before the directory is replaced:"
    assert added in " ".join(shown.split())
    assert "unclean_recovery_strategy=aggressive" not in shown, "every broker is online"


def test_a_log_directory_that_was_declared_lost_is_not_to_be_repaired_first() -> None:
    result = a_recovery([outages.would_recover()], with_a_dead_directory())
    advice = {**an_advice(1, 3), "is_running": True}
    commands = next_commands({"unclean_recovery_lost_brokers": [1]})
    blocks = recovery_page.blocks(result, commands=commands, start_order=[advice], rows=False)
    shown = rendered(blocks, 300, color=False)
    assert "repair" not in shown.lower()
    assert "1.  Carry it out:" in shown


@pytest.mark.parametrize(
    ("state", "text"),
    [("hung", "It runs: find out why."), ("unreachable", "Start it only with its old disk.")],
)
def test_a_broker_that_stops_answering_during_the_run_comes_before_bolder_elections(state: str, text: str) -> None:
    """Its records could not be saved, for instance. It is not in the start order, which was found before."""
    lost = an_advice(1, 3)
    lost["broker"]["state"] = "given_up"
    result = a_recovery([outages.refused()], outages.brokers(9))
    (broker,) = (each for each in result["brokers"] if each["broker_id"] == 3)
    broker["state"] = state
    commands = next_commands({"kafka_bootstrap_servers": "kafka9:9092", "unclean_recovery_lost_brokers": [1]})
    blocks = recovery_page.blocks(result, commands=commands, start_order=[lost], rows=False)
    shown = " ".join(rendered(blocks, 300, color=False).split())
    assert f"1. Broker 3 does not answer. {text}" in shown
    assert "2. Then look again. If broker 3 cannot return because it is lost for good, add" in shown
    assert "unclean_recovery_strategy=aggressive" not in shown


@pytest.mark.parametrize(
    ("rules", "text", "more"),
    [
        ([RefusedBy.STRATEGY], "1. See what it costs to elect", "-e unclean_recovery_strategy=aggressive"),
        ([RefusedBy.STRATEGY, None], "1. See what it costs to elect", "-e unclean_recovery_strategy=aggressive"),
        ([None], "1. Follow the reasons of the partitions, then look again: ", ""),
        (
            [RefusedBy.INTERNAL_TOPIC],
            "1. Look at the internal topics, too. Their records are the cluster's own state:",
            "-e unclean_recovery_include_internal_topics=true",
        ),
        (
            [RefusedBy.INTERNAL_TOPIC, None],
            "1. Follow the reasons of the partitions, then look again, also at internal topics:",
            "-e unclean_recovery_include_internal_topics=true",
        ),
        (
            [RefusedBy.STRATEGY, RefusedBy.INTERNAL_TOPIC],
            "1. See what it costs to elect",
            "-e unclean_recovery_strategy=aggressive",
        ),
    ],
)
def test_the_next_step_follows_from_the_rules_that_refused(rules: list[RefusedBy | None], text: str, more: str) -> None:
    """A bolder strategy changes nothing where a limit, a full disk or an internal topic refused."""
    outcomes = [
        replace(outages.refused(number), reason=f"because of {rule}", refused_by=rule, cause=None)
        for number, rule in enumerate(rules)
    ]
    blocks = recovery_page.blocks(
        a_recovery(outcomes, outages.brokers(9)), commands=next_commands({}), start_order=[], rows=False
    )
    shown = " ".join(rendered(blocks, 300, color=False).split())
    assert text in shown
    options = ("-e unclean_recovery_strategy=aggressive", "-e unclean_recovery_include_internal_topics=true")
    assert [each for each in options if each in shown] == ([more] if more else [])


@pytest.mark.parametrize("outcome", [outages.refused(), outages.would_recover()])
@pytest.mark.parametrize("given", [[1], "1", [], [1, 5]])
@pytest.mark.parametrize("alive", [0, 1, 4])
def test_a_broker_that_was_declared_lost_is_never_to_be_started(
    outcome: Outcome, given: list[int] | str, alive: int
) -> None:
    """Also not if it is beyond the brokers that are named with their effect. ``alive`` others can be started."""
    lost = an_advice(1, 3)
    lost["broker"]["state"] = "given_up"
    commands = next_commands({"kafka_bootstrap_servers": "kafka9:9092", "unclean_recovery_lost_brokers": given})
    others = [an_advice(broker, 1) for broker in range(2, 2 + alive)]
    for order in ([lost, *others], [*others, lost]):
        result = a_recovery([outcome], outages.brokers(9))
        blocks = recovery_page.blocks(result, commands=commands, start_order=order, rows=False)
        shown = rendered(blocks, 300, color=False)
        assert not re.search(r"(?<!not )\bstart brokers? (\d+, )*1\b", shown, re.IGNORECASE)
        assert "broker 1 should be started" not in shown
        assert shown.count("Do not start broker 1, declared lost") == 1
        assert ("Start broker 2 at" in shown) == bool(alive)
        assert ("Then look again" in shown) == bool(alive), "nothing changes before the next look"


def test_good_copies_are_saved_before_their_brokers_are_started() -> None:
    """The leader seems to have a new disk. There is nothing to recover, and nothing else to do."""
    result = a_recovery([outages.already_online(0)], outages.brokers(4, dead=[2, 3]))
    result = {**result, "summary": {"unknown": 1}, "led_by_replaced": 1}
    commands = next_commands({"kafka_bootstrap_servers": "kafka1:9092"})
    shown = rendered(recovery_page.blocks(result, commands=commands, start_order=[], rows=False), 300, color=False)
    assert shown.startswith("1 partition is led by logs that seem to be on new disks: save the disks")
    assert "1.  Before brokers 2, 3 are started: save the records that only their disks may hold." in shown
    assert "kafkaops.recovery.salvage_logs" in shown
    assert "led by logs that seem to be on new disks" in recovery_page.failure(result, ["already_online"])


def test_what_is_not_known_of_a_disk_is_said_where_all_seems_well() -> None:
    brokers = [
        replace(each, unclean_elections=None, unclean_elections_missing="no controller answers")
        for each in outages.brokers(3, dead=[2])
    ]
    result = {**a_recovery([], brokers), "summary": {"offline": 0}}
    commands = next_commands({"kafka_bootstrap_servers": "kafka1:9092"})
    blocks = recovery_page.blocks(result, commands=commands, start_order=[], rows=False)
    shown = " ".join(rendered(blocks, 300, color=False).split())
    assert (
        "1. Broker 2 does not run. It is not known whether another partition's leader was elected uncleanly since it "
        "stopped, because no controller answers. If one was, save its disk first"
    ) in shown
    assert "2. " not in shown, "the others run"


def test_a_disk_that_is_to_be_saved_anyway_is_not_doubted() -> None:
    brokers = [
        replace(each, unclean_elections=None, unclean_elections_missing="no controller answers")
        for each in outages.brokers(3, dead=[2])
    ]
    result = {**a_recovery([], brokers), "summary": {"already_online": 1}, "led_by_replaced": 1}
    commands = next_commands({"kafka_bootstrap_servers": "kafka1:9092"})
    blocks = recovery_page.blocks(result, commands=commands, start_order=[], rows=False)
    shown = " ".join(rendered(blocks, 300, color=False).split())
    assert "1. Before broker 2 is started: save the records that only its disks may hold." in shown
    assert "It is not known" not in shown


def test_an_offline_log_directory_is_saved_before_the_broker_restarts_with_it() -> None:
    result = a_recovery([outages.recovered(outages.losing(0))], with_a_dead_directory())
    commands = next_commands({"kafka_bootstrap_servers": "kafka1:9092"})
    shown = rendered(recovery_page.blocks(result, commands=commands, start_order=[], rows=False), 300, color=False)
    assert "1.  Before broker 1 restarts with /b: save the records that only this disk may hold" in shown
    assert json.dumps({"log_salvage_log_dirs": ["/b"]}) in shown
    assert "LOG_DIR" not in shown


def test_the_next_step_of_a_plan_is_to_read_it() -> None:
    recover = ["ansible-playbook", "x", "-e", "unclean_recovery_plan_file=plan.json"]
    commands = Commands(plan_file="plan.json", recover=recover)
    result = a_recovery([outages.would_recover()], ())
    text = rendered(recovery_page.blocks(result, commands=commands, start_order=[], rows=False), 120, color=False)
    assert "Let a second person review plan.json, then carry it out:" in text
