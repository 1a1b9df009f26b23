# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print the outcome for the blacklist, replica orders and leaders. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import join_first

from .alike import fold_rows, name_partitions
from .page import Block, Entries, Entry, Heading, Paragraph, Row, Table, not_shown
from .words import Result, broker_ids, change, leader, printable, rack_of, topics, words

_STYLES = {
    "reordered": "bold green",
    "restored": "bold green",
    "moved": "bold green",
    "would_reorder": "bold cyan",
    "would_restore": "bold cyan",
    "would_move": "bold cyan",
    "failed": "bold red",
    "still_preferred": "bold red",
    "lagging": "bold red",
    "led_by_silent": "bold red",
}
_OTHER_STYLE = "yellow"
_UNREMARKABLE = "in_order"
_MOST_TARGETS = 20


def blocks(orders: Result, leaders: Result, may_stop: Iterable[Block] = (), *, rows: bool) -> Iterator[Block]:
    """Return all blocks. ``leaders`` is empty if no election was requested; ``rows`` adds a row for each partition.

    ``may_stop`` says whether the listed brokers may stop.
    """
    yield Paragraph(verdict(orders, leaders), "bold")
    yield Paragraph(_list_change(orders))
    yield from may_stop
    yield from _section("Replica orders", orders, _order_table, rows=rows)
    # A skipped task has returned no summary.
    if "summary" in leaders:
        targets = _targets(leaders) if leaders.get("targets") else ""
        yield from _section("Leaders", leaders, _leader_table, rows=rows, first=targets)


def _targets(leaders: Result) -> str:
    verb = "would move" if leaders["summary"].get("would_move") else "moved"
    shares = [f"{each['partitions']:,} to broker {each['broker_id']}{rack_of(each)}" for each in leaders["targets"]]
    return f"Leaderships that {verb}: {join_first(shares, _MOST_TARGETS)}."


def verdict(orders: Result, leaders: Result) -> str:
    """Say how many orders and leaders have each status."""
    sentences = [f"Replica orders: {_counts(orders['summary'])}."]
    if "summary" in leaders:
        sentences.append(f"Leaders: {_counts(leaders['summary'])}.")
    return " ".join(sentences)


def failure(*results: Result) -> str:
    """Return the failure messages of the tasks; empty if none failed."""
    return "\n".join(printable(line) for each in results if each.get("msg") for line in str(each["msg"]).split("\n"))


def _counts(summary: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {words(name)}" for name, count in summary.items() if count) or "nothing to change"


def _list_change(orders: Result) -> str:
    native = "; every broker supports it, so no replica order is changed for it" if orders["is_native"] else ""
    lists = change(_list(orders["before"]), _list(orders["after"]))
    return f"preferred_leader_blacklist: {lists}; stored in {orders['remembered_in']}{native}"


def _list(blacklist: Result) -> str:
    parts = [broker_ids(blacklist["brokers"])] if blacklist["brokers"] else []
    parts += [f"{broker_ids(each['brokers'])} for topics {each['pattern']}" for each in blacklist["by_topic"]]
    return ", ".join(parts) or "(empty)"


def _section(
    title: str, result: Result, table: Callable[[Sequence[Result]], Table], *, rows: bool, first: str = ""
) -> Iterator[Block]:
    groups = [each for each in result["groups"] if each["status"] != _UNREMARKABLE]
    if groups:
        yield Heading(title)
        if first:
            yield Paragraph(first, indent=2)
        yield Entries(tuple(map(_group, groups)))
    partitions = [each for each in result["partitions"] if each["status"] != _UNREMARKABLE]
    if rows and partitions:
        yield Heading(f"{title} of each partition")
        yield table(partitions)
        yield from not_shown(len(partitions), sum(each["partitions"] for each in groups))


def _group(group: Result) -> Entry:
    status = group["status"]
    label = f"{group['partitions']:>5,} {words(status)}"
    return Entry(label, (topics(group["topics"]), group["reason"]), _STYLES.get(status, _OTHER_STYLE))


def _order_table(partitions: Sequence[Result]) -> Table:
    return _table(
        partitions,
        [change(broker_ids(each["replicas"] or ()), broker_ids(each["replicas_after"] or ())) for each in partitions],
        "Order",
    )


def _leader_table(partitions: Sequence[Result]) -> Table:
    return _table(
        partitions,
        [
            change(
                leader(each["leader_before"]),
                leader(each["target"] if each["status"] == "would_move" else each["leader_after"]),
            )
            for each in partitions
        ],
        "Leader",
    )


def _table(partitions: Sequence[Result], changes: Sequence[str], title: str) -> Table:
    rows = (
        (each, [Row((words(each["status"]), what), each["reason"], _STYLES.get(each["status"], _OTHER_STYLE))])
        for each, what in zip(partitions, changes, strict=True)
    )
    folded = fold_rows(rows, name_partitions)
    return Table(("Partition", "Status", title), folded, "Reason", texts=("Partition", "Status", title))
