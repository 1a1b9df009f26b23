# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the commands of a recovery's next steps from the role's variables. Standard library only."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from .words import Result

_JOURNAL = ("kafka_journal", "kafka_journal_topic", "kafka_journal_dir")
_SELECTIONS = (
    "unclean_recovery_partitions",
    "unclean_recovery_partitions_file",
    "unclean_recovery_designations_file",
    "unclean_recovery_designations",
)
_POLICY = (
    "unclean_recovery_include_internal_topics",
    "unclean_recovery_acknowledge_unclean_leader_election",
    "unclean_recovery_max_lost_records",
    "unclean_recovery_lost_brokers",
    "unclean_recovery_wait_ms",
    "unclean_recovery_allow_dropping_unregistered",
    *_JOURNAL,
)
_ALL = ("-e", "unclean_recovery_all_offline_partitions=true")
_ELECT = ("-e", "unclean_recovery_automated_recovery=true")
_NO_BROKER = "BROKER:9092"


def next_commands(variables: Result, saved_in: str = "") -> dict[str, Any]:
    """Return the command of each next step as words; empty if a step does not apply.

    ``plan_file`` and ``bootstrap_servers`` are no commands, but values for texts. ``saved_in`` is the directory with
    the saved records of other replicas. ``unclean_recovery_plan`` only says whether a plan was given as data.
    """
    given = {**variables, "kafka_bootstrap_servers": _servers(variables)}
    plan_file = given.get("unclean_recovery_plan_file") or ""
    reviewed = plan_file or given.get("unclean_recovery_manual_output_file") or ""
    has_plan = bool(plan_file or given.get("unclean_recovery_plan"))
    selected = next((name for name in _SELECTIONS if given.get(name) is not None), None)
    selection = _ALL if selected is None else _word(selected, given[selected])
    policy = [*_words(given, _POLICY)]
    connection = [*_words(given, ("kafka_bootstrap_servers", "kafka_command_config"))]
    command = [
        *("ansible-playbook", "kafkaops.recovery.recover_offline_partitions"),
        *_words(given, ("unclean_recovery_hosts",)),
        *connection,
    ]
    decided = (
        [*_word("unclean_recovery_plan_file", reviewed), *_words(given, _JOURNAL)]
        if reviewed
        else [*selection, *_words(given, ("unclean_recovery_strategy",)), *policy]
    )
    is_aggressive = given.get("unclean_recovery_strategy") == "aggressive"
    aggressive = [*command, *selection, "-e", "unclean_recovery_strategy=aggressive", *policy, *_ELECT, "--check"]
    look = [*command, *(_ALL if has_plan else (*selection, *policy)), "-e", "unclean_recovery_show_replica_info=true"]
    return {
        "bootstrap_servers": given["kafka_bootstrap_servers"] or _NO_BROKER,
        "plan_file": reviewed,
        "look": look,
        # The path of a plan that was given as data is unknown here.
        "recover": [] if given.get("unclean_recovery_plan") else [*command, *decided, *_ELECT],
        "aggressive": [] if has_plan or is_aggressive else aggressive,
        "salvage": _salvage(connection),
        "replay": _replay(given, connection, saved_in) if saved_in else [],
    }


def _salvage(connection: Iterable[str]) -> list[str]:
    """Return the command that saves the disks of an offline broker. A person replaces the names in capitals."""
    where = (*("-i", "INVENTORY"), *_word("log_salvage_hosts", "HOST"))
    what = (*_word("log_salvage_log_dirs", ["LOG_DIR"]), *_word("log_salvage_dir", "NEW_DIR"))
    return ["ansible-playbook", "kafkaops.recovery.salvage_logs", *where, *connection, *what]


def _replay(given: Result, connection: Iterable[str], saved_in: str) -> list[str]:
    hosts = _words({"salvage_replay_hosts": given.get("unclean_recovery_hosts")}, ("salvage_replay_hosts",))
    command = ("ansible-playbook", "kafkaops.recovery.replay_salvaged_records", *hosts, *connection)
    return [*command, *_word("salvage_replay_dir", saved_in)]


def _servers(variables: Result) -> str:
    servers: str | list[str] = variables.get("kafka_bootstrap_servers") or ""
    return (servers if isinstance(servers, str) else ",".join(servers)).replace(" ", "")


def _words(given: Result, names: Iterable[str]) -> Iterable[str]:
    """Return the options that set these variables. 0 is a value: the strictest limit of lost records."""
    for name in names:
        value = given.get(name)
        if value is not None and value is not False and value not in ("", []):
            yield from _word(name, value)


def _word(name: str, value: object) -> tuple[str, str]:
    if isinstance(value, list):
        return "-e", json.dumps({name: value})
    return "-e", f"{name}=true" if value is True else f"{name}={value}"
