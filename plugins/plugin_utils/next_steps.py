# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print the next steps of a recovery, and build their commands from the role's variables. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.variable import set_variable
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.next_steps import (
    AfterRun,
    Commands,
    list_steps,
    salvage_command,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.next_way import Return, find_returns
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import DONE

from .command_words import connection_words, option_words, playbook_words
from .page import Block, Command, Entries, Entry, Heading
from .words import Result


def recovery_steps(result: Result, commands: Commands, start_order: Sequence[Result]) -> Iterator[Block]:
    """Return the next steps after this result, numbered. There are none if everything is well."""
    steps = [*list_steps(_after(result, commands, start_order), commands)]
    if not steps:
        return
    yield Heading("Next")
    for place, (text, words) in enumerate(steps, start=1):
        yield Entries((Entry(f"{place}.", (text,)),))
        if words:
            yield Command(tuple(words))


def _after(result: Result, commands: Commands, start_order: Sequence[Result]) -> AfterRun:
    brokers = result.get("brokers", [])
    writable = result.get("writable", {"led": 0, "writable": 0, "unknown": 0})
    return AfterRun(
        statuses=[name for name, count in result.get("summary", {}).items() if count],
        returns=find_returns_of(result, commands, start_order),
        states={each["broker_id"]: each["state"] for each in brokers},
        offline_log_dirs={each["broker_id"]: each["offline_log_dirs"] for each in brokers if each["offline_log_dirs"]},
        unclean_elections={each["broker_id"]: each["unclean_elections"] for each in brokers},
        elections_missing={each["broker_id"]: each["unclean_elections_missing"] for each in brokers},
        start_order=start_order,
        is_unbounded=bool(result.get("loss", {}).get("unbounded")),
        is_led_by_replaced=bool(result.get("led_by_replaced")),
        refused_by={rule for each in result.get("groups", []) for rule in each["refused_by"]},
        lacking_replicas=writable["led"] - writable["writable"] - writable["unknown"],
        aftermath={each["kind"] for each in result.get("aftermath", [])},
        has_changed_orders=any(each["undoing"] == "failed" for each in result.get("leftovers", [])),
    )


def find_returns_of(result: Result, commands: Commands, start_order: Sequence[Result]) -> tuple[Return, ...]:
    """Return the missing brokers that may return: only these are to be started, repaired or looked at."""
    if not start_order:
        return ()
    states = {each["broker_id"]: each["state"] for each in result.get("brokers", [])}
    awaited = {
        each for row in result.get("partitions", ()) if row["status"] not in DONE for each in row.get("replicas") or ()
    }
    return find_returns(start_order, states, awaited, commands.lost_brokers)


_THEN_RESTORE = "unclean_recovery_then_restore_redundancy"
_SELECTIONS = (
    "unclean_recovery_partitions",
    "unclean_recovery_partitions_file",
    "unclean_recovery_designations_file",
    "unclean_recovery_designations",
)
_PLANNED_WITH = (
    "unclean_recovery_include_internal_topics",
    "unclean_recovery_max_lost_records",
    "unclean_recovery_max_estimated_loss",
    "unclean_recovery_proof",
    "unclean_recovery_recordings",
    "unclean_recovery_metadata_log_dir",
    "unclean_recovery_host_boot_times",
    "unclean_recovery_lost_brokers",
    "unclean_recovery_wait_ms",
    "unclean_recovery_duration_ms",
    "unclean_recovery_replica_log_source",
    "unclean_recovery_replica_log_api_key",
    "unclean_recovery_allow_empty_leader",
    "unclean_recovery_allow_dropping_unregistered",
    _THEN_RESTORE,
)
_CARRIED_OUT_WITH = (
    "unclean_recovery_acknowledge_unclean_leader_election",
    "unclean_recovery_salvage",
    "unclean_recovery_salvage_dir",
    "unclean_recovery_ignore_quorum",
    "unclean_recovery_election_attempts",
    "unclean_recovery_verify_timeout_ms",
    "unclean_recovery_election_timeout_ms",
    "unclean_recovery_report_aftermath",
)
_ALL = ("-e", "unclean_recovery_all_offline_partitions=true")
_ELECT = ("-e", "unclean_recovery_automated_recovery=true")
_DEFAULT = "balanced"
_BOLDER = {"none": "balanced", "balanced": "aggressive", "from_config": "aggressive"}
"""The next strategy that elects where this one refused."""


def next_commands(variables: Result, saved_in: str = "") -> Commands:
    """Return the command of each next step.

    ``saved_in`` is the directory with the saved records of other replicas. ``unclean_recovery_plan`` only says whether
    a plan was given as data.
    """
    given = {"unclean_recovery_strategy": _DEFAULT, **variables}
    plan_file = given.get("unclean_recovery_plan_file") or ""
    reviewed = plan_file or given.get("unclean_recovery_manual_output_file") or ""
    has_plan = bool(plan_file or given.get("unclean_recovery_plan"))
    selected = next((name for name in _SELECTIONS if given.get(name) is not None), None)
    selection = _ALL if selected is None else set_variable(selected, given[selected])
    execution = [*option_words(given, _CARRIED_OUT_WITH)]
    policy = [*option_words(given, _PLANNED_WITH), *execution]
    command = [*playbook_words("recover_offline_partitions", "unclean_recovery", given)]
    strategy = [*option_words(given, ("unclean_recovery_strategy",))]
    decided = (
        [*set_variable("unclean_recovery_plan_file", reviewed), *execution]
        if reviewed
        else [*selection, *strategy, *policy]
    )
    replay = playbook_words("replay_salvaged_records", "salvage_replay", given)
    bolder = _BOLDER.get(given["unclean_recovery_strategy"])
    bold = [*selection, "-e", f"unclean_recovery_strategy={bolder}", *policy, *_ELECT, "--check"]
    looked_at = [*selection, *([] if given["unclean_recovery_strategy"] == _DEFAULT else strategy), *policy]
    look = [*command, *(_ALL if has_plan else looked_at), "-e", "unclean_recovery_show_replica_info=true"]
    return Commands(
        lost_brokers=_ids(given.get("unclean_recovery_lost_brokers")),
        plan_file=reviewed,
        look=look,
        # The path of a plan that was given as data is unknown here.
        recover=[] if given.get("unclean_recovery_plan") else [*command, *decided, *_ELECT],
        bolder=[*command, *bold] if bolder and not has_plan else [],
        salvage=salvage_command(connection_words(given)),
        redundancy=[] if given.get(_THEN_RESTORE) else [*playbook_words("restore_redundancy", "redundancy", given)],
        groups=[*playbook_words("restore_groups", "group_recovery", given)],
        replays=[[*replay, *set_variable("salvage_replay_dir", saved_in)]] if saved_in else [],
    )


def _ids(given: object) -> list[int]:
    """Return broker ids that were given as a list, or as one word with commas."""
    ids = given if isinstance(given, list) else str(given or "").split(",")
    return [int(each) for each in ids if str(each).strip().isdecimal()]
