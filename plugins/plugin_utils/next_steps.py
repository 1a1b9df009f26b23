# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print the next steps of a recovery, and build their commands from the role's variables. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.variable import set_variable
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.next_way import (
    How,
    Return,
    Way,
    choose_way,
    find_returns,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import DONE

from .command_words import connection_words, option_words
from .page import Block, Command, Entries, Entry, Heading
from .words import Result, brokers, counted

_MOST_BROKERS = 3
_OLD_DISK = (
    "Start it only with its old disk. With an empty disk it can still be elected, and all other replicas then delete "
    "what they hold."
)
_OLD_DIR = (
    "Its old content must be there when the broker restarts. With an empty directory it can still be elected, and all "
    "other replicas then delete what they hold."
)
_DECLARED_LOST = (
    "declared lost: with an empty disk a broker can be elected, and all other replicas then delete what they hold. "
    "Only after all partitions that have other replicas are recovered, an empty disk is safe: partitions without "
    "another replica then begin at offset 0."
)
_OF_CLIENTS = {"committed_beyond_end", "committed_before_start", "open_transaction", "state_lost"}
_GROUPS = (
    "Groups may have lost their place, or transactions may hang: read_committed consumers stop there. This looks, and "
    "prints how to repair it:"
)


def recovery_steps(result: Result, commands: Result, start_order: Sequence[Result]) -> Iterator[Block]:
    """Return the next steps after this result, numbered. There are none if everything is well."""
    counts: Mapping[str, int] = result.get("summary", {})
    steps = [*_steps(result, counts, commands, start_order)]
    if not steps:
        return
    yield Heading("Next")
    for place, (text, words) in enumerate(steps, start=1):
        yield Entries((Entry(f"{place}.", (text,)),))
        if words:
            yield Command(tuple(words))


def _steps(
    result: Result, counts: Mapping[str, int], commands: Result, start_order: Sequence[Result]
) -> Iterator[tuple[str, Sequence[str]]]:
    look = commands.get("look", ())
    returns = find_returns_of(result, commands, start_order)
    statuses = [name for name, count in counts.items() if count]
    may_elect = bool(commands.get("aggressive")) and not _is_only_unsaved(result)
    way = choose_way(statuses, returns, may_elect=may_elect)
    yield from _save_disks(result, counts, commands)
    if way is Way.RETURN:
        yield from ((text, ()) for text in _returns(returns))
        yield _look_after(returns, commands), look
    elif way is Way.ELECT:
        yield (
            "See what it costs to elect the best surviving replicas. To carry it out, omit --check:",
            commands["aggressive"],
        )
    elif way is Way.FOLLOW_REASONS and look:
        yield "Follow the reasons below, then look again:", look
    if counts.get("would_recover") and commands.get("recover"):
        plan_file = commands.get("plan_file")
        text = f"Let a second person review {plan_file}, then carry it out:" if plan_file else "Carry it out:"
        yield text, commands["recover"]
    given_up = [each["broker_id"] for each in start_order if _is_given_up(each)]
    if given_up and {*statuses} - DONE:
        yield f"Do not start {brokers(given_up)}, {_DECLARED_LOST}", ()
    if commands.get("replay"):
        yield "Replay the saved records of other replicas, first with --check:", commands["replay"]
    yield from _make_writable(result, commands)
    kinds = {each["kind"] for each in result.get("aftermath", [])}
    if kinds & _OF_CLIENTS and commands.get("groups"):
        yield _GROUPS, commands["groups"]
    if any(each["undoing"] == "failed" for each in result.get("leftovers", [])):
        yield "Run again to restore the replica orders that are still changed:", look


def _is_only_unsaved(result: Result) -> bool:
    """Return whether partitions were refused, all because records could not be saved. No strategy changes that."""
    rows = (result.get("salvage") or {}).get("partitions", ())
    unsaved = {(each["topic"], each["partition"]) for each in rows if each["reason"]}
    refused = {(each["topic"], each["partition"]) for each in result["partitions"] if each["status"] == "refused"}
    return bool(refused) and refused <= unsaved


def _make_writable(result: Result, commands: Result) -> Iterator[tuple[str, Sequence[str]]]:
    """Return the step that gives partitions the replicas without which no record with acks=all is written."""
    found = result.get("writable", {"led": 0, "writable": 0, "unknown": 0})
    lacking = found["led"] - found["writable"] - found["unknown"]
    away = [each["broker_id"] for each in result.get("brokers", []) if each["state"] != "online"]
    if lacking and away and commands.get("redundancy"):
        verb = "takes" if lacking == 1 else "take"
        yield (
            f"{counted(lacking, 'partition')} {verb} no record with acks=all until more replicas are in sync. If "
            f"{brokers(away)} cannot return, copy the replicas to other brokers. This looks first:",
            [*commands["redundancy"], *set_variable("redundancy_lost_brokers", away)],
        )


def find_returns_of(result: Result, commands: Result, start_order: Sequence[Result]) -> tuple[Return, ...]:
    """Return the missing brokers that may return: only these are to be started, repaired or looked at."""
    if not start_order:
        return ()
    states = {each["broker_id"]: each["state"] for each in result.get("brokers", [])}
    declared = commands.get("lost_brokers", ())
    # They answered when the start order was found. Nothing about their partitions is worth a bolder election yet.
    waits = {each for row in result["partitions"] if row["status"] not in DONE for each in row.get("replicas") or ()}
    known = {each["broker_id"] for each in start_order}
    stopped = {each: state for each, state in states.items() if state != "online" and each in waits - known}
    return (*find_returns((), stopped, declared), *find_returns(start_order, states, declared))


def _is_given_up(advice: Result) -> bool:
    return bool(advice["broker"]) and advice["broker"]["state"] == "given_up"


def _save_disks(result: Result, counts: Mapping[str, int], commands: Result) -> Iterator[tuple[str, Sequence[str]]]:
    """Return the steps that save the disks of offline brokers and log dirs, if new leaders may lack their records."""
    found = result.get("brokers", [])
    away = [each["broker_id"] for each in found if each["state"] != "online"]
    is_unbounded = bool(counts.get("recovered") and result["loss"]["unbounded"])
    if not commands.get("salvage") or not (is_unbounded or result.get("led_by_replaced")):
        return
    for each in found:
        if dirs := each["offline_log_dirs"]:
            yield (
                f"Before broker {each['broker_id']} restarts with {', '.join(dirs)}: save the records that only this "
                "disk may hold, if it can be read. The broker deletes records that the new leaders lack. Fill in "
                "INVENTORY, HOST and NEW_DIR:",
                [set_variable(_LOG_DIRS, dirs)[1] if word == _ANY_LOG_DIR else word for word in commands["salvage"]],
            )
    if away:
        are, their = ("is", "its") if len(away) == 1 else ("are", "their")
        yield (
            f"Before {brokers(away)} {are} started: save the records that only {their} disks may hold. A broker that "
            "starts deletes records that the new leaders lack. Fill in INVENTORY, HOST, LOG_DIR (each of log.dirs) and "
            "NEW_DIR:",
            commands["salvage"],
        )


def _returns(returns: Sequence[Return]) -> Iterator[str]:
    for each in returns[:_MOST_BROKERS]:
        if not each.advice:
            do = _OLD_DISK if each.how is How.START else "Find out why it does not answer."
            yield f"Broker {each.broker_id} has stopped answering during this run. {do}"
            continue
        broker, name, effect = each.advice["broker"], f"broker {each.broker_id}", _effect(each.advice)
        name += f" at {broker['host']}:{broker['port']}" if broker and broker["host"] else ""
        name += f" (rack {broker['rack']})" if broker and broker.get("rack") else ""
        yield {
            How.START: f"Start {name}: {effect}. {_OLD_DISK}",
            How.REPAIR: f"Repair the offline log directory of {name}, which runs: {effect}. {_OLD_DIR}",
            How.FREE: f"Find out what keeps {name}, which runs, from leading: {effect}.",
        }[each.how]
    rest = [str(each.broker_id) for each in returns[_MOST_BROKERS:] if each.how is How.START]
    if rest:
        yield f"If this is not sufficient, start brokers {', '.join(rest[:10])}, in this order."


def _look_after(returns: Sequence[Return], commands: Result) -> str:
    """Return the text of the next look, and what to add to it if a broker never returns."""
    lost = sorted({*commands.get("lost_brokers", ()), returns[0].broker_id})
    add = f"-e unclean_recovery_lost_brokers={','.join(map(str, lost))}"
    is_disk = returns[0].how is How.REPAIR
    what = "its log directory is lost with all that it holds" if is_disk else "it is lost for good"
    before = ", before the directory is replaced" if is_disk else ""
    return f"Then look again. If broker {returns[0].broker_id} cannot return because {what}, add {add}{before}:"


def _effect(advice: Result) -> str:
    always, clean = advice["always_back"], advice["back_after_clean_stop"]
    if always and clean:
        return f"{counted(always, 'partition')} get a leader when it returns, {clean:,} more if it was stopped cleanly"
    if always:
        return f"{counted(always, 'partition')} get{'s' if always == 1 else ''} a leader as soon as it returns"
    if clean:
        return f"{counted(clean, 'partition')} get{'s' if clean == 1 else ''} a leader if it was stopped cleanly"
    return f"no partition gets a leader by it alone, but its {counted(advice['replica_of'], 'replica')} can be compared"


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


def next_commands(variables: Result, saved_in: str = "") -> dict[str, Any]:
    """Return the command of each next step as words; empty if a step does not apply.

    ``plan_file`` and ``lost_brokers`` are no commands, but values for texts and commands.
    ``saved_in`` is the directory with the saved records of other replicas. ``unclean_recovery_plan`` only says whether
    a plan was given as data.
    """
    given = {"unclean_recovery_strategy": "balanced", **variables}
    plan_file = given.get("unclean_recovery_plan_file") or ""
    reviewed = plan_file or given.get("unclean_recovery_manual_output_file") or ""
    has_plan = bool(plan_file or given.get("unclean_recovery_plan"))
    selected = next((name for name in _SELECTIONS if given.get(name) is not None), None)
    selection = _ALL if selected is None else set_variable(selected, given[selected])
    execution = [*option_words(given, _CARRIED_OUT_WITH)]
    policy = [*option_words(given, _PLANNED_WITH), *execution]
    connection = [*connection_words(given)]
    command = [
        *("ansible-playbook", "kafkaops.recovery.recover_offline_partitions"),
        *option_words(given, ("unclean_recovery_hosts",)),
        *connection,
    ]
    decided = (
        [*set_variable("unclean_recovery_plan_file", reviewed), *execution]
        if reviewed
        else [*selection, *option_words(given, ("unclean_recovery_strategy",)), *policy]
    )
    is_aggressive = given.get("unclean_recovery_strategy") == "aggressive"
    aggressive = [*command, *selection, "-e", "unclean_recovery_strategy=aggressive", *policy, *_ELECT, "--check"]
    look = [*command, *(_ALL if has_plan else (*selection, *policy)), "-e", "unclean_recovery_show_replica_info=true"]
    return {
        "lost_brokers": _ids(given.get("unclean_recovery_lost_brokers")),
        "plan_file": reviewed,
        "look": look,
        # The path of a plan that was given as data is unknown here.
        "recover": [] if given.get("unclean_recovery_plan") else [*command, *decided, *_ELECT],
        "aggressive": [] if has_plan or is_aggressive else aggressive,
        "salvage": _salvage_command(connection),
        "redundancy": []
        if given.get(_THEN_RESTORE)
        else ["ansible-playbook", "kafkaops.recovery.restore_redundancy", *connection],
        "groups": ["ansible-playbook", "kafkaops.recovery.restore_groups", *connection],
        "replay": _replay_command(given, connection, saved_in) if saved_in else [],
    }


def _salvage_command(connection: Iterable[str]) -> list[str]:
    """Return the command that saves the disks of an offline broker. A person replaces the names in capitals."""
    where = (*("-i", "INVENTORY"), *set_variable("log_salvage_hosts", "HOST"))
    what = ("-e", _ANY_LOG_DIR, *set_variable("log_salvage_dir", "NEW_DIR"))
    return ["ansible-playbook", "kafkaops.recovery.salvage_logs", *where, *connection, *what]


def _replay_command(given: Result, connection: Iterable[str], saved_in: str) -> list[str]:
    hosts = option_words({"salvage_replay_hosts": given.get("unclean_recovery_hosts")}, ("salvage_replay_hosts",))
    command = ("ansible-playbook", "kafkaops.recovery.replay_salvaged_records", *hosts, *connection)
    return [*command, *set_variable("salvage_replay_dir", saved_in)]


def _ids(given: object) -> list[int]:
    """Return broker ids that were given as a list, or as one word with commas."""
    ids = given if isinstance(given, list) else str(given or "").split(",")
    return [int(each) for each in ids if str(each).strip().isdecimal()]


_LOG_DIRS = "log_salvage_log_dirs"
_ANY_LOG_DIR = set_variable(_LOG_DIRS, ["LOG_DIR"])[1]
"""A word of the command that saves disks, for a person to fill in."""
