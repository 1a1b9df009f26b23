# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The next commands decide as the run did that prints them."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.next_steps import Commands
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.next_steps import next_commands

_PLAYBOOK = ["ansible-playbook", "kafkaops.recovery.recover_offline_partitions"]
_SERVERS = ["-e", "kafka_bootstrap_servers=a:9092,b:9092"]
_ALL = ["-e", "unclean_recovery_all_offline_partitions=true"]
_STRATEGY = ["-e", "unclean_recovery_strategy=balanced"]
_ELECT = ["-e", "unclean_recovery_automated_recovery=true"]
_GIVEN = {"kafka_bootstrap_servers": "a:9092, b:9092", "unclean_recovery_strategy": "balanced"}


def _commands(**given: Any) -> Commands:
    return next_commands({**_GIVEN, **given})


def test_a_run_of_all_partitions_is_repeated() -> None:
    commands = _commands(kafka_bootstrap_servers=["a:9092", "b:9092"], unclean_recovery_hosts="bastion")
    command = [*_PLAYBOOK, "-e", "unclean_recovery_hosts=bastion", *_SERVERS]
    assert commands.look == [*command, *_ALL, "-e", "unclean_recovery_show_replica_info=true"]
    assert commands.recover == [*command, *_ALL, *_STRATEGY, *_ELECT]
    aggressive = ["-e", "unclean_recovery_strategy=aggressive"]
    assert commands.bolder == [*command, *_ALL, *aggressive, *_ELECT, "--check"]
    assert commands.salvage == [
        *("ansible-playbook", "kafkaops.recovery.salvage_logs", "-i", "INVENTORY", "-e", "log_salvage_hosts=HOST"),
        *_SERVERS,
        *("-e", '{"log_salvage_log_dirs": ["LOG_DIR"]}', "-e", "log_salvage_dir=NEW_DIR"),
    ]
    assert (commands.replays, commands.plan_file) == ([], "")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, []),
        ({"unclean_recovery_wait_ms": 60000}, ["unclean_recovery_wait_ms=60000"]),
        ({"unclean_recovery_proof": "accept"}, ["unclean_recovery_proof=accept"]),
        ({"unclean_recovery_recordings": "/recordings"}, ["unclean_recovery_recordings=/recordings"]),
        ({"unclean_recovery_metadata_log_dir": "/kraft"}, ["unclean_recovery_metadata_log_dir=/kraft"]),
        (
            {"unclean_recovery_host_boot_times": {"3": "2026-01-31T02:00:00Z"}},
            ['{"unclean_recovery_host_boot_times": {"3": "2026-01-31T02:00:00Z"}}'],
        ),
        ({"unclean_recovery_include_internal_topics": True}, ["unclean_recovery_include_internal_topics=true"]),
        ({"unclean_recovery_allow_dropping_unregistered": True}, ["unclean_recovery_allow_dropping_unregistered=true"]),
        (
            {"unclean_recovery_acknowledge_unclean_leader_election": True},
            ["unclean_recovery_acknowledge_unclean_leader_election=true"],
        ),
        ({"unclean_recovery_lost_brokers": [1]}, ['{"unclean_recovery_lost_brokers": [1]}']),
        ({"unclean_recovery_max_lost_records": 0}, ["unclean_recovery_max_lost_records=0"]),
        ({"unclean_recovery_salvage": "required"}, ["unclean_recovery_salvage=required"]),
        ({"unclean_recovery_report_aftermath": False}, ["unclean_recovery_report_aftermath=false"]),
    ],
)
def test_the_next_command_decides_as_this_run_did(given: dict[str, Any], words: list[str]) -> None:
    repeated = [word for each in words for word in ("-e", each)]
    assert _commands(**given).recover == [*_PLAYBOOK, *_SERVERS, *_ALL, *_STRATEGY, *repeated, *_ELECT]


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"kafka_journal_topic": "_run"}, "kafka_journal_topic=_run"),
        ({"kafka_bootstrap_controllers": ["c:9093", "d:9093"]}, "kafka_bootstrap_controllers=c:9093,d:9093"),
        ({"kafka_ssl_check_hostname": False}, "kafka_ssl_check_hostname=false"),
        ({"kafka_ssl_cafile": "/etc/an authority.pem"}, '{"kafka_ssl_cafile": "/etc/an authority.pem"}'),
    ],
)
def test_every_next_command_connects_as_this_run_did(given: dict[str, Any], word: str) -> None:
    commands = next_commands({**_GIVEN, **given}, "/saved")
    names = ("look", "recover", "bolder", "salvage", "redundancy", "groups")
    for words in (*(getattr(commands, each) for each in names), *commands.replays):
        start = words.index(_SERVERS[1]) + 1
        assert words[start : start + 2] == ["-e", word]


def test_lost_entries_of_a_journal_are_discarded_once() -> None:
    assert _commands(kafka_journal_discard_lost=True) == _commands()


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"unclean_recovery_partitions": []}, '{"unclean_recovery_partitions": []}'),
        ({"unclean_recovery_partitions_file": "p.json"}, "unclean_recovery_partitions_file=p.json"),
        ({"unclean_recovery_designations_file": "d.json"}, "unclean_recovery_designations_file=d.json"),
        ({"unclean_recovery_designations": [{"topic": "t"}]}, '{"unclean_recovery_designations": [{"topic": "t"}]}'),
    ],
)
def test_the_same_partitions_are_selected(given: dict[str, Any], word: str) -> None:
    commands = _commands(**given)
    for name in ("look", "recover", "bolder"):
        assert getattr(commands, name)[: len(_PLAYBOOK + _SERVERS) + 2] == [*_PLAYBOOK, *_SERVERS, "-e", word]


@pytest.mark.parametrize(
    ("strategy", "bolder", "is_repeated"),
    [
        ("none", "balanced", True),
        ("balanced", "aggressive", False),
        ("from_config", "aggressive", True),
        ("aggressive", "", True),
    ],
)
def test_the_next_look_has_the_strategy_and_the_next_bolder_one_is_offered(
    strategy: str, bolder: str, is_repeated: bool
) -> None:
    """Otherwise the next look refuses by the default, and offers what was just refused."""
    commands = _commands(unclean_recovery_strategy=strategy)
    assert (f"unclean_recovery_strategy={strategy}" in commands.look) == is_repeated
    assert [each for each in commands.bolder if "strategy" in each] == (
        [f"unclean_recovery_strategy={bolder}"] if bolder else []
    )


def test_a_plan_that_this_run_wrote_or_was_given_is_carried_out() -> None:
    plan = ["-e", "unclean_recovery_plan_file=plan.json", "-e", "unclean_recovery_salvage=required"]
    written = _commands(unclean_recovery_manual_output_file="plan.json", unclean_recovery_salvage="required")
    assert written.recover == [*_PLAYBOOK, *_SERVERS, *plan, *_ELECT]
    assert written.bolder
    given = _commands(unclean_recovery_plan_file="plan.json", unclean_recovery_salvage="required")
    assert (given.recover, given.plan_file) == (written.recover, "plan.json")
    assert given.bolder == []
    assert given.look == [*_PLAYBOOK, *_SERVERS, *_ALL, "-e", "unclean_recovery_show_replica_info=true"]
    as_data = _commands(unclean_recovery_plan=True)
    assert (as_data.recover, as_data.bolder, as_data.look) == ([], [], given.look)


def test_an_aggressive_run_does_not_advise_itself() -> None:
    assert _commands(unclean_recovery_strategy="aggressive").bolder == []


def test_other_playbooks_act_where_this_run_acted() -> None:
    given = next_commands({**_GIVEN, "unclean_recovery_hosts": "bastion"}, "/saved")
    for words, playbook, role in (
        (given.replays[0], "replay_salvaged_records", "salvage_replay"),
        (given.redundancy, "restore_redundancy", "redundancy"),
        (given.groups, "restore_groups", "group_recovery"),
    ):
        where = ["ansible-playbook", f"kafkaops.recovery.{playbook}", "-e", f"{role}_hosts=bastion", *_SERVERS]
        assert [*words][: len(where)] == where
