# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print a recovery: the verdict, next steps, brokers that are not online, and the partitions in groups.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import grouped
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import agreeing, join_first, plural
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.next_steps import Commands
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.next_way import Return, describe_first
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.verdict import (
    LossTotal,
    Writability,
    describe_doubtful,
    describe_engine,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.verdict import describe_recovery as in_words

from .alike import fold_rows, in_topics, name_partitions
from .next_steps import find_returns_of, recovery_steps
from .page import Block, Entries, Entry, Heading, Paragraph, Row, Table, not_shown
from .words import (
    Result,
    broker_ids,
    change,
    in_racks,
    leader,
    number,
    partition_name,
    rack_of,
    racks_by_broker,
    size,
    topics,
    words,
)

_MOST_LINES = 10
_MOST_LEADERS = 4
_STYLES = {
    "recovered": "bold green",
    "already_online": "green",
    "would_recover": "bold cyan",
    "refused": "yellow",
    "unknown": "magenta",
    "failed": "bold red",
    "unrecoverable": "bold red",
}
_VERBS = {"recovered": "elected", "would_recover": "would elect"}


def blocks(
    result: Result,
    *,
    commands: Commands,
    start_order: Sequence[Result],
    rows: bool,
    awaited: Sequence[Result] = (),
) -> Iterator[Block]:
    """Return all blocks. ``rows`` adds a row for each partition, and the engine that ranked the replicas."""
    yield Paragraph(verdict(result, find_returns_of(result, commands, start_order)), "bold")
    yield from recovery_steps(result, commands, start_order)
    yield from _brokers(result.get("brokers", []))
    yield from _awaited(awaited, commands.lost_brokers)
    groups = result.get("groups", [])
    if groups:
        yield Heading("Partitions")
        racks = racks_by_broker(result.get("brokers", []))
        yield Entries(tuple(_group(each, racks) for each in groups))
    partitions = result.get("left_alone", result.get("partitions"))
    if rows and partitions:
        yield Heading("Each partition")
        yield outcome_table(partitions)
        yield from not_shown(len(partitions), sum(result["summary"].values()))
    if result.get("salvage"):
        # This import is slow, and not needed if every partition has a leader.
        from .account_page import losers_blocks  # noqa: PLC0415

        yield from losers_blocks(result["salvage"])
    yield from _leftovers(result.get("leftovers", []))
    yield from _aftermath(result.get("aftermath", []))
    engine = describe_engine(result.get("engine"))
    if rows and engine:
        yield Paragraph(f"{engine[0].upper()}{engine[1:]}.")


def verdict(result: Result, returns: Sequence[Return] = ()) -> str:
    """Return the outcome and the loss, in one sentence."""
    loss = LossTotal(**result["loss"]) if "loss" in result else None
    writability = Writability(**result["writable"]) if "writable" in result else None
    text = in_words(result.get("summary", {}), loss, describe_first(returns), writability)
    return f"{_doubtful_leaders(result)}{text}"


def _doubtful_leaders(result: Result) -> str:
    return describe_doubtful(result.get("led_by_silent", 0), result.get("led_by_replaced", 0))


def failure(result: Result, accepted: Collection[str]) -> str:
    """Return why the task fails: statuses that are not accepted, changed orders, a missing report. Empty if none."""
    counts: Mapping[str, int] = result.get("summary", {})
    others = {name: count for name, count in counts.items() if name not in accepted and count}
    sentences = []
    if others:
        named = ", ".join(f"{count} {words(name)}{_which(result, name, count)}" for name, count in others.items())
        # Only a look accepts partitions that would be recovered, and it recovers none.
        verb, what = ("need", "attention") if "would_recover" in accepted else ("are", "not recovered")
        count, every = sum(others.values()), sum(counts.values())
        sentences.append(f"{count} of {plural(every, 'partition')} {agreeing(verb, count)} {what}: {named}")
    stuck = sum(each["undoing"] == "failed" for each in result.get("leftovers", []))
    if stuck:
        sentences.append(f"{stuck} replica orders that an earlier run changed are not restored")
    if sentences:
        sentences.append("the reasons are above")
    return _doubtful_leaders(result) + "; ".join(filter(None, [*sentences, result.get("report_fault")]))


def _which(result: Result, status: str, count: int) -> str:
    """Return the names of the partitions with a status, as far as the result has their rows."""
    rows = [each for each in result.get("partitions", []) if each["status"] == status]
    if not rows:
        return ""
    return f" ({in_topics(rows)}{' and others' if len(rows) < count else ''})"


def replica_blocks(result: Result) -> Iterator[Block]:
    """Return a row for each replica of the result's partitions, best first, silent replicas last."""
    partitions = result["partitions"]
    racks = racks_by_broker(result.get("brokers", []))
    rows = fold_rows(((each, [*_replica_rows(each, racks)]) for each in partitions), name_partitions)
    if not rows:
        return
    yield Heading("What each replica holds (* would lead)")
    columns = ("Partition", "Broker", "Rank", "Epoch", "Log start", "Log end", "Size", "Loses")
    yield Table(columns, rows, "Notes", texts=("Partition",))
    yield from not_shown(len(partitions), sum(result["summary"].values()))


def outcome_table(partitions: Sequence[Result]) -> Table:
    """Return a row for each partition, and one for all that are alike."""
    columns = ("Partition", "Status", "Leader", "Epoch", "Replicas", "ISR", "ELR", "Last known ELR")
    rows = fold_rows(((each, [_outcome_row(each)]) for each in partitions), name_partitions)
    return Table(columns, rows, "Reason", texts=("Partition", "Status"))


def _outcome_row(outcome: Result) -> Row:
    cells = (
        words(outcome["status"]),
        _leaders(outcome),
        change(number(outcome["leader_epoch_before"]), number(_epoch_after(outcome))),
        broker_ids(outcome["replicas"]),
        *(_known_ids(outcome[name]) for name in ("isr", "elr", "last_known_elr")),
    )
    return Row(cells, outcome["reason"], _STYLES.get(outcome["status"], ""))


def _known_ids(ids: Sequence[int] | None) -> str:
    return "unknown" if ids is None else broker_ids(ids)


def _replica_rows(partition: Result, racks: Mapping[int, str]) -> Iterator[Row]:
    losses = {each["broker_id"]: each for each in partition["losses"]}
    for each in partition["candidates"]:
        is_leader = each["broker_id"] == partition["designated_leader"]
        cells = (
            f"{'* ' if is_leader else ''}{in_racks([each['broker_id']], racks)}",
            str(each["rank"]),
            number(each["last_written_epoch"]),
            str(each["log_start_offset"]),
            str(each["log_end_offset"]),
            size(each["size_bytes"]),
            _loses(losses.get(each["broker_id"])),
        )
        yield Row(cells, ", ".join(map(words, each["flags"])), "bold green" if is_leader else "")
    for each in partition["silent"]:
        yield Row((in_racks([each["broker_id"]], racks), *["-"] * 6), words(each["cause"]), "dim")


def _loses(loss: Result | None) -> str:
    """Return a number of records: "5", "5 to 9", "≥ 5" without an upper bound, or "unknown"."""
    if loss is None:
        return "-"
    least, most = loss["at_least"], loss["at_most"]
    if most is None:
        return f"≥ {least}" if least else "unknown"
    return str(least) if most == least else f"{least} to {most}"


def _leaders(outcome: Result) -> str:
    before = leader(outcome["leader_before"])
    if outcome["status"] == "would_recover":
        return change(before, str(outcome["designated_leader"]))
    return change(before, leader(outcome["leader_after"]))


def _epoch_after(outcome: Result) -> int | None:
    after: int | None = outcome["leader_epoch_after"]
    return outcome["leader_epoch_before"] if after is None else after


def _why_away(broker: Result) -> str:
    return f"{words(broker['state'])}{rack_of(broker)}: {broker['cause']}"


def _brokers(brokers: Sequence[Result]) -> Iterator[Block]:
    """Return how many brokers are online, and the cause of each that is not, or that has offline replicas."""
    if not brokers:
        return
    away = [each for each in brokers if each["state"] != "online"]
    impaired = [each for each in brokers if each["state"] == "online" and each["cause"]]
    others = f", {len(impaired)} of them with offline replicas" if impaired else ""
    yield Heading(f"Brokers: {len(brokers) - len(away)} of {len(brokers)} online{others}")
    shown = [*away, *impaired]
    named = [Entry(f"broker {each['broker_id']}", (_why_away(each),), "bold yellow") for each in shown[:_MOST_LINES]]
    rest = [str(each["broker_id"]) for each in shown[_MOST_LINES:]]
    if rest:
        named.append(Entry("and", (f"{len(rest)} more: {join_first(rest, 30)}",)))
    if named:
        yield Entries(tuple(named))


def _awaited(brokers: Sequence[Result], lost: Collection[int]) -> Iterator[Block]:
    """Return for which brokers the run waited, or would wait, one line for each broker."""
    for each in brokers[:_MOST_LINES]:
        name, seconds = f"broker {each['broker_id']}", (each["waited_ms"] or 0) / 1000
        needed = f"{plural(each['holds_back'], 'partition', 'wait')} for it" if each["holds_back"] else ""
        decided = f"its answer may decide {plural(each['partitions'], 'partition')}"
        if each["has_returned"]:
            text = f"{name} returned after {seconds:.0f} s"
        elif each["waited_ms"] is not None:
            text = f"waited {seconds:.0f} s for {name}, which did not return: {needed or decided}"
        else:
            text = (
                f"a run that elects would wait up to {each['limit_ms'] / 1000:.0f} s for {name}: {needed or decided}. "
                f"If it is lost permanently, set unclean_recovery_lost_brokers: {sorted({*lost, each['broker_id']})}"
            )
        yield Paragraph(text, indent=2)


def _group(group: Result, racks: Mapping[int, str]) -> Entry:
    lines = [topics(group["topics"])]
    status = group["status"]
    if group["leaders"]:
        elected = f"{_VERBS.get(status, 'leader')} {_shares(group['leaders'], racks)}"
        lines.append(f"{elected}: {group['reason']}" if group["reason"] else elected)
    elif group["reason"]:
        lines.append(group["reason"])
    if group["loss"]:
        lines.append(group["loss"] if group["leaders"] else f"electing the best surviving replica: {group['loss']}")
    return Entry(f"{group['partitions']:>5,} {words(status)}", tuple(lines), _STYLES.get(status, ""))


def _shares(leaders: Sequence[Result], racks: Mapping[int, str]) -> str:
    where = {each["broker_id"]: f"rack {racks[each['broker_id']]}" for each in leaders if each["broker_id"] in racks}
    if len(leaders) == 1:
        (broker_id,) = (each["broker_id"] for each in leaders)
        return f"broker {broker_id} ({where[broker_id]})" if where else f"broker {broker_id}"
    told = [(each["broker_id"], [f"{each['partitions']:,}", where.get(each["broker_id"])]) for each in leaders]
    named = [f"{broker_id} ({', '.join(filter(None, facts))})" for broker_id, facts in told]
    return f"brokers {join_first(named, _MOST_LEADERS)}"


def _leftovers(leftovers: Sequence[Result]) -> Iterator[Block]:
    if not leftovers:
        return
    yield Heading("Replica orders that an earlier run changed")
    yield Entries(
        tuple(
            Entry(partition_name(each["change"]), (f"{words(each['undoing'])}: {each['reason']}",))
            for each in leftovers[:_MOST_LINES]
        )
    )
    yield from not_shown(min(len(leftovers), _MOST_LINES), len(leftovers))


def _aftermath(findings: Sequence[Result]) -> Iterator[Block]:
    """Return the aftermath. Partitions with the same explanation share a paragraph."""
    if not findings:
        return
    said = grouped((each["explanation"], each) for each in findings)
    yield Heading("Left behind")
    for explanation, about in list(said.items())[:_MOST_LINES]:
        named = in_topics(each for each in about if each["topic"] is not None)
        yield Paragraph(f"{named}: {explanation}" if named else explanation, indent=2)
    yield from not_shown(min(len(said), _MOST_LINES), len(said))
