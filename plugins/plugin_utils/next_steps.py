# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print the next steps, as commands to copy. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .page import Block, Command, Entries, Entry, Heading
from .words import Result, brokers, counted

_MOST_BROKERS = 3
_DONE = ("recovered", "already_online")
_OLD_DISK = (
    "Start it only with its old disk. With an empty disk it can still be elected, and all other replicas then delete "
    "what they hold."
)
_LOOK_AT = {
    "committed_beyond_end": (
        "Consumer groups have read records that are lost. Decide with their owners where they continue:",
        ("kafka-consumer-groups.sh", "--describe", "--all-groups"),
    ),
    "open_transaction": (
        "A transaction is open: read_committed consumers stop there. If it does not end by itself, find and abort it:",
        ("kafka-transactions.sh", "find-hanging"),
    ),
}


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
    is_any_left = any(count for name, count in counts.items() if name not in _DONE)
    look = commands.get("look", ())
    yield from _salvage(result, counts, commands)
    if is_any_left and start_order:
        yield from ((text, ()) for text in _starts(start_order))
        yield "Then look again:", look
    if counts.get("refused") and commands.get("aggressive"):
        yield (
            "If the brokers that are not online cannot return: see what it costs to elect the best surviving replicas. "
            "To carry it out, omit --check:",
            commands["aggressive"],
        )
    if counts.get("would_recover") and commands.get("recover"):
        plan_file = commands.get("plan_file")
        text = f"Let a second person review {plan_file}, then carry it out:" if plan_file else "Carry it out:"
        yield text, commands["recover"]
    if commands.get("replay"):
        yield "Replay the saved records of other replicas, first with --check:", commands["replay"]
    kinds = {each["kind"] for each in result.get("aftermath", [])}
    for kind, (text, words) in _LOOK_AT.items():
        if kind in kinds:
            yield text, (words[0], "--bootstrap-server", commands.get("bootstrap_servers", "BROKER:9092"), *words[1:])
    if any(each["undoing"] == "failed" for each in result.get("leftovers", [])):
        yield "Run again to restore the replica orders that are still changed:", look


def _salvage(result: Result, counts: Mapping[str, int], commands: Result) -> Iterator[tuple[str, Sequence[str]]]:
    """Return the step that saves the disks of offline brokers, if new leaders may lack records of these disks."""
    away = [each["broker_id"] for each in result.get("brokers", []) if each["state"] != "online"]
    if counts.get("recovered") and away and result["loss"]["unbounded"] and commands.get("salvage"):
        are, their = ("is", "its") if len(away) == 1 else ("are", "their")
        yield (
            f"Before {brokers(away)} {are} started: save the records that only {their} disks may hold. A broker that "
            "starts deletes records that the new leaders lack. Fill in INVENTORY, HOST, LOG_DIR (each of log.dirs) and "
            "NEW_DIR:",
            commands["salvage"],
        )


def _starts(start_order: Sequence[Result]) -> Iterator[str]:
    for each in start_order[:_MOST_BROKERS]:
        broker = each["broker"]
        where = f" at {broker['host']}:{broker['port']}" if broker and broker["host"] else ""
        yield f"Start broker {each['broker_id']}{where}: {_effect(each)}. {_OLD_DISK}"
    rest = [str(each["broker_id"]) for each in start_order[_MOST_BROKERS:]]
    if rest:
        yield f"If this is not sufficient, start brokers {', '.join(rest[:10])}, in this order."


def _effect(advice: Result) -> str:
    always, clean = advice["always_back"], advice["back_after_clean_stop"]
    if always and clean:
        return f"{counted(always, 'partition')} get a leader when it returns, {clean:,} more if it was stopped cleanly"
    if always:
        return f"{counted(always, 'partition')} get{'s' if always == 1 else ''} a leader as soon as it returns"
    if clean:
        return f"{counted(clean, 'partition')} get{'s' if clean == 1 else ''} a leader if it was stopped cleanly"
    return f"no partition gets a leader by it alone, but its {counted(advice['replica_of'], 'replica')} can be compared"
