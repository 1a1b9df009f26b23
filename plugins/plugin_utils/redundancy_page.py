# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print which partitions get their replicas back. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import agreeing, plural
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.plan import DONE_OR_FORESEEN

from .alike import entries_by_reason, fold_rows, in_topics, name_partitions
from .command_words import carry_out, option_words, plan_file, playbook_words
from .page import Block, Command, Entries, Heading, Paragraph, Row, Table, not_shown
from .words import Result, broker_ids, brokers, in_racks, racks_by_broker, size, words

_COLUMNS = ("Partition", "Status", "Replicas", "Target", "New on", "Each copies")
_MOST_ROWS = 30
_UNKNOWN = ("unanswered", "hidden")
_OF_A_PLAN = (
    "redundancy_lost_brokers",
    "redundancy_all_under_replicated",
    "redundancy_partitions",
    "redundancy_partitions_file",
)
_OF_A_RUN = (
    "redundancy_deprioritized_brokers",
    "redundancy_space_margin_percent",
    "redundancy_throttle_bytes_per_second",
    "redundancy_max_concurrent",
    "redundancy_stall_timeout_ms",
)


def blocks(result: Result, variables: Result, *, rows: bool = False) -> Iterator[Block]:
    """Return all blocks: the verdict, what is not as it should be, the replicas, and the next command."""
    yield Paragraph(verdict(result), "bold")
    for note in result["notes"]:
        yield Paragraph(note, "bold yellow", indent=2)
    bad = [each for each in result["partitions"] if each["status"] not in DONE_OR_FORESEEN]
    if bad:
        is_known = any(each["status"] not in _UNKNOWN for each in bad)
        yield Heading("Without all replicas" if is_known else "Perhaps without all replicas")
        yield Entries(tuple(entries_by_reason(bad, in_topics)))
    good = [each for each in result["partitions"] if each["status"] in DONE_OR_FORESEEN and each["target"]]
    if good:
        yield Heading("New replicas")
        shown = good if rows else good[:_MOST_ROWS]
        racks = racks_by_broker(result["racks"])
        yield Table(
            _COLUMNS,
            fold_rows(((each, [_row(each, racks)]) for each in shown), name_partitions),
            prose_column="Note",
            texts=("Partition", "Status"),
        )
        yield from not_shown(len(shown), sum(result["summary"][each] for each in DONE_OR_FORESEEN))
    for each in result["leftovers"]:
        yield Paragraph(f"{each['change']}: {each['undoing']}: {each['reason']}", indent=2)
    yield from _next(result, variables)


def verdict(result: Result) -> str:
    """Return in one sentence how many partitions got or would get their replicas."""
    counts = result["summary"]
    bad = sum(count for status, count in counts.items() if status not in (*DONE_OR_FORESEEN, *_UNKNOWN))
    clauses = []
    if counts["restored"]:
        clauses.append(f"{plural(counts['restored'], 'partition')} got new replicas, all in sync")
    if counts["done_before"]:
        clauses.append(f"{plural(counts['done_before'], 'partition')} got new replicas before")
    if counts["returned"]:
        clauses.append(f"{plural(counts['returned'], 'partition')} kept the replica of a broker that returned")
    if counts["would_restore"]:
        clauses.append(
            f"{plural(counts['would_restore'], 'partition')} would get new replicas ({size(result['bytes_to_copy'])} "
            "to copy)"
        )
    if bad:
        clauses.append(f"{plural(bad, 'partition')} {'does' if bad == 1 else 'do'} not get all replicas")
    if counts["unanswered"]:
        clauses.append(f"{plural(counts['unanswered'], 'partition')} may lack replicas, because brokers do not answer")
    if counts["hidden"]:
        clauses.append(f"{plural(counts['hidden'], 'partition')} may lack replicas, because we may not see the topics")
    lost = f" of {brokers(result['lost_brokers'])}" if result["lost_brokers"] else ""
    return f"{'; '.join(clauses) or f'No replica{lost} is missing'}."


def failure(result: Result) -> str:
    """Return why the play fails, in one sentence; empty if it does not."""
    counts = [
        (status, count) for status, count in result["summary"].items() if count and status not in DONE_OR_FORESEEN
    ]
    sentences = [f"{count} {words(status)}" for status, count in counts]
    stuck = sum(each["undoing"] == "failed" for each in result["leftovers"])
    sentences += [f"{plural(stuck, 'change')} of an earlier run {agreeing('are', stuck)} not restored"] if stuck else []
    return f"not all replicas are restored: {', '.join(sentences)}; the reasons are above" if sentences else ""


def _row(partition: Result, racks: Mapping[int, str]) -> Row:
    cells = (
        words(partition["status"]),
        broker_ids(partition["replicas"]),
        broker_ids(partition["target"]),
        in_racks(partition["adding"], racks),
        size(partition["size_bytes"]),
    )
    return Row(cells, partition["reason"])


def _next(result: Result, variables: Result) -> Iterator[Block]:
    if not variables or not result["summary"]["would_restore"]:
        return
    yield Heading("Next")
    yield carry_out(plan_file(variables, "redundancy"), result["plan_digest"])
    yield Command(tuple(command(variables)))


def command(variables: Result) -> Iterator[str]:
    """Yield the words of the command that carries out what was planned."""
    plan = plan_file(variables, "redundancy")
    given = {**variables, "redundancy_plan_file": plan}
    yield from playbook_words("restore_redundancy", "redundancy", given)
    yield from option_words(given, [*(() if plan else _OF_A_PLAN), *_OF_A_RUN, "redundancy_plan_file"])
    yield from ("-e", "redundancy_automated_recovery=true")
