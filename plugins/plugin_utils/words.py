# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Format the values that modules return for people. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import named, plural

NO_LEADER = -1
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP = 1024
_MOST_BROKERS = 5

Result = Mapping[str, Any]
"""The results of a module, or one entry of them."""


def printable(text: object) -> str:
    """Return the text without control characters: text of a broker may contain them, and terminals execute them."""
    return "".join(character if character.isprintable() else "?" for character in str(text))


def partition_name(partition: Result) -> str:
    return f"{partition['topic']}-{partition['partition']}"


def topics(group: Result) -> str:
    """Return the partitions of a group: "orders 0-499, 512; payments 3; and 12 more topics"."""
    named = [f"{each['topic']} {each['partitions']}" for each in group["named"]]
    more = [f"and {plural(group['more'], 'more topic')}"] if group["more"] else []
    return "; ".join([*named, *more])


def number(value: int | None) -> str:
    return "-" if value is None else str(value)


def span(values: Sequence[int | None], missing: str = "-") -> str:
    """Return one value, or the lowest and the highest of several: "10 to 340"; ``missing`` where there is none."""
    texts = [missing] if None in values else []
    if known := {each for each in values if each is not None}:
        texts.append(" to ".join(map(str, sorted({min(known), max(known)}))))
    return " or ".join(texts)


def size(size_bytes: int | None) -> str:
    """Return bytes with three digits and a unit."""
    if size_bytes is None:
        return "-"
    value, unit = float(size_bytes), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{size_bytes} B" if unit == 0 else f"{value:.3g} {_UNITS[unit]}"


def leader(broker_id: int | None) -> str:
    return {None: "?", NO_LEADER: "none"}.get(broker_id, str(broker_id))


def change(before: str, after: str) -> str:
    """Return both values, or one if they are equal."""
    return before if before == after else f"{before} → {after}"


def broker_ids(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids)) or "-"


def brokers(ids: Sequence[int]) -> str:
    """Return the brokers in a sentence: "broker 1", "brokers 1, 4 and 2 more"."""
    return named("broker", ids, _MOST_BROKERS)


def racks_by_broker(rows: Sequence[Result]) -> dict[int, str]:
    """Return the racks of the brokers that have one, from rows with ``broker_id`` and ``rack``."""
    return {each["broker_id"]: each["rack"] for each in rows if each["rack"]}


def rack_of(row: Result) -> str:
    """Return the rack of a row's broker, to follow its id: " (rack a)"; empty if it has none."""
    return f" (rack {row['rack']})" if row["rack"] else ""


def in_racks(ids: Sequence[int], racks: Mapping[int, str]) -> str:
    """Return the brokers' ids for a cell, with their racks: "1 (a), 4 (b)"; "1,4" if none of them has a rack."""
    if not any(each in racks for each in ids):
        return broker_ids(ids)
    return ", ".join(f"{each} ({racks[each]})" if each in racks else str(each) for each in ids)


def words(identifier: str) -> str:
    """Return a status or a cause without its underscores."""
    return str(identifier).replace("_", " ")
