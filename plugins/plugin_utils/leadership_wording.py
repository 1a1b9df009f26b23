# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What became of the list, of replica orders and of leaders, in a person's words. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.wording import (
    Result,
    leader,
    partition_name,
    printable,
    replicas,
    status,
    summary,
)

ORDER_COLUMNS = ("Partition", "Order", "Before", "After", "Why")
LEADER_COLUMNS = ("Partition", "Leader", "Before", "After", "Why")
_UNREMARKABLE = "in_order"


def list_line(orders: Result) -> str:
    """The list before and after, and where it is remembered."""
    before, after = _list(orders["before"]), _list(orders["after"])
    change = f"stays {after}" if before == after else f"{before} → {after}"
    native = "; every broker knows it, so no order is needed for it" if orders["is_native"] else ""
    return printable(f"preferred_leader_blacklist {change}; remembered in {orders['remembered_in']}{native}")


def order_rows(orders: Result, most: int) -> list[tuple[str, ...]]:
    """A row for each partition that is not simply in order."""
    told = [each for each in orders["partitions"] if each["status"] != _UNREMARKABLE]
    return [
        (
            partition_name(each),
            status(each),
            replicas(each["replicas"] or ()),
            replicas(each["replicas_after"] or ()),
            printable(each["reason"]),
        )
        for each in told[:most]
    ]


def leader_rows(leaders: Result, most: int) -> list[tuple[str, ...]]:
    """A row for each partition whose leader moved or should have."""
    return [
        (
            partition_name(each),
            status(each),
            leader(each["leader_before"]),
            leader(each["target"] if each["status"] == "would_move" else each["leader_after"]),
            printable(each["reason"]),
        )
        for each in leaders["partitions"][:most]
    ]


def lines(columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """One line for each row, where there is no terminal."""
    what = columns[1].lower()
    for name, ended, before, after, why in rows:
        change = before if before == after else f"{before} → {after}"
        yield f"{name}: {what} {ended}: {change}: {why}"


def totals(what: str, counts: Mapping[str, int], shown: int) -> list[str]:
    """How many partitions ended how, and how many of those worth a row have none."""
    hidden = sum(count for name, count in counts.items() if name != _UNREMARKABLE) - shown
    more = [f"{hidden} more are not shown; the report file has all of them"] if hidden > 0 else []
    return [*more, f"{what}: {summary(counts)}"]


def failure(*results: Result) -> str:
    """What the tasks that returned these did not do; empty when they did all. Only then they return a message."""
    return "\n".join(printable_lines(each["msg"]) for each in results if each.get("msg"))


def printable_lines(text: str) -> str:
    """The text, line by line without control characters."""
    return "\n".join(printable(line) for line in str(text).split("\n"))


def _list(blacklist: Result) -> str:
    parts = [replicas(blacklist["brokers"])]
    parts += [f"{replicas(each['brokers'])} for topics {each['pattern']}" for each in blacklist["by_topic"]]
    if not blacklist["brokers"]:
        parts = parts[1:]
    return ", ".join(parts) or "(empty)"
