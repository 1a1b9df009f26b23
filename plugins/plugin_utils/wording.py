# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What modules return, in a person's words. Standard library only."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

NO_LEADER = -1
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP = 1024

Result = Mapping[str, Any]
"""One entry of what a module returns."""


def printable(text: object) -> str:
    """The text without control characters: some of it is what a broker says, and terminals obey those."""
    return "".join(character if character.isprintable() else "?" for character in str(text))


def partition_name(partition: Result) -> str:
    return printable(f"{partition['topic']}-{partition['partition']}")


def number(value: int | None) -> str:
    return "-" if value is None else str(value)


def size(size_bytes: int | None) -> str:
    """Bytes with three digits and a unit."""
    if size_bytes is None:
        return "-"
    value, unit = float(size_bytes), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{size_bytes} B" if unit == 0 else f"{value:.3g} {_UNITS[unit]}"


def leader(broker_id: int | None) -> str:
    return {None: "?", NO_LEADER: "none"}.get(broker_id, str(broker_id))


def leader_change(outcome: Result) -> str:
    """Leader before and after; where nothing was done yet, the one that would be asked for."""
    before = leader(outcome["leader_before"])
    if outcome["status"] == "would_recover":
        return f"{before} → {outcome['designated_leader']}"
    after = leader(outcome["leader_after"])
    return before if before == after else f"{before} → {after}"


def epoch_change(outcome: Result) -> str:
    before, after = outcome["leader_epoch_before"], outcome["leader_epoch_after"]
    return number(before) if after in (None, before) else f"{number(before)} → {after}"


def replicas(broker_ids: Sequence[int]) -> str:
    return ",".join(map(str, broker_ids)) or "-"


def reason_of_rank(candidate: Result) -> str:
    """The explanation without the rank, which stands beside it."""
    return printable(candidate["explanation"]).removeprefix(f"rank {candidate['rank']}: ")


def loss(partition: Result, candidate: Result) -> str:
    """How many records electing it loses: "5", or "≥5" where some are not known."""
    found = next((each for each in partition["losses"] if each["broker_id"] == candidate["broker_id"]), None)
    if found is None:
        return "-"
    return str(found["at_least"]) if found["at_most"] == found["at_least"] else f"≥{found['at_least']}"


def loss_in_words(partition: Result, candidate: Result) -> str:
    """What electing it loses, with the offsets; empty where nothing was forecast."""
    found = [each["explanation"] for each in partition["losses"] if each["broker_id"] == candidate["broker_id"]]
    return printable("; ".join(found))


def aftermath_lines(findings: Sequence[Result]) -> list[str]:
    """What elections left behind, a line each."""
    lines = [
        each["explanation"] if each["topic"] is None else f"{partition_name(each)}: {each['explanation']}"
        for each in findings
    ]
    return [printable(each) for each in (["left behind:", *lines] if lines else [])]


def is_any_left(counts: Mapping[str, int]) -> bool:
    """True when a partition has no leader yet."""
    return any(count for name, count in counts.items() if name not in ("recovered", "already_online"))


def start_order_lines(start_order: Sequence[Result]) -> list[str]:
    """Which dead broker to start first, and what the controller does by itself then."""
    if not start_order:
        return []
    lines = [f"{place}. {each['explanation']}" for place, each in enumerate(start_order, start=1)]
    return [printable(each) for each in ["which broker to start first:", *lines]]


def reason_of_silence(silent: Result, known: Collection[str]) -> str:
    """Why a replica told nothing; ``known`` are errors that are told elsewhere."""
    cause = f"silent: {silent['cause'].replace('_', ' ')}"
    return printable(cause if silent["error"] in known else f"{cause}: {silent['error']}")


def status(outcome: Result) -> str:
    return printable(outcome["status"]).replace("_", " ")


def summary(counts: Mapping[str, int]) -> str:
    """How many partitions, and how they ended: '3 partitions: 2 recovered, 1 unrecoverable'."""
    total = sum(counts.values())
    named = _counted(counts)
    return f"{total} partition{'' if total == 1 else 's'}" + (f": {named}" if named else "")


def failure(told: Result, accepted: Collection[str]) -> str:
    """What ended in another status than the accepted ones, and a report that is missing; empty when all is well."""
    counts: Mapping[str, int] = told.get("summary", {})
    others = {name: count for name, count in counts.items() if name not in accepted}
    sentences = []
    if sum(others.values()):
        sentences.append(
            f"{sum(others.values())} of {sum(counts.values())} partitions are not recovered: {_counted(others)}"
        )
    stuck = sum(each["undoing"] == "failed" for each in told.get("leftovers", []))
    if stuck:
        sentences.append(f"{stuck} replica orders that an earlier run changed are not put back")
    if sentences:
        sentences.append("the reasons are above")
    return "; ".join(filter(None, [*sentences, told.get("report_fault")]))


def leftover_lines(leftovers: Sequence[Result]) -> list[str]:
    """A line for each replica order that an earlier run left changed."""
    return [
        printable(
            f"{partition_name(each['change'])}: an earlier run's replica order: {each['undoing']}: {each['reason']}"
        )
        for each in leftovers
    ]


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {printable(name).replace('_', ' ')}" for name, count in counts.items() if count)


def causes(brokers: Sequence[Result]) -> frozenset[str]:
    """What ``broker_lines`` tells of brokers that are not well."""
    return frozenset(each["cause"] for each in brokers)


def broker_lines(brokers: Sequence[Result]) -> list[str]:
    """A line for each broker that is not well, after one that counts those that are."""
    ill = [each for each in brokers if each["state"] != "online"]
    lines = [f"brokers: {len(brokers) - len(ill)} of {len(brokers)} online"] if brokers else []
    return lines + [
        printable(f"broker {each['broker_id']}: {each['state'].replace('_', ' ')}: {each['cause']}") for each in ill
    ]
