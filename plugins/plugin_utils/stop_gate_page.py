# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print whether brokers may stop. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import agreeing, plural

from .alike import fold_rows
from .page import Block, Entries, Entry, Heading, Paragraph, Row, Table
from .words import Result, broker_ids, brokers, in_racks, number, racks_by_broker, words

_COLUMNS = ("Brokers", "May stop", "Partitions", "Leaders that move", "ISR margin", "Controllers", "To spare")
_MOST_SETS = 5


def blocks(result: Result) -> Iterator[Block]:
    """Return all blocks: the answer, the reasons, what would make it a yes, the numbers and the waves."""
    yield Paragraph(verdict(result), "bold green" if result["verdict"] == "yes" else "bold red")
    if result["reasons"]:
        yield Heading("Reasons")
        yield Entries(tuple(map(_reason, result["reasons"])))
    changes = [each for each in result["stops"] if each["changes"]]
    if changes:
        yield Heading("What would make it a yes")
        yield Entries(tuple(Entry(broker_ids(each["brokers"]), tuple(each["changes"])) for each in changes))
    if result["stops"]:
        racks = racks_by_broker(result["racks"])
        yield Heading("If they stop now")
        yield Table(
            _COLUMNS,
            fold_rows(((each["brokers"], [_stop(each)]) for each in result["stops"]), partial(_sets, racks)),
            texts=("Brokers", "May stop", "Controllers"),
        )
    if result["notes"]:
        yield Heading("Also seen")
        for each in result["notes"]:
            yield Paragraph(each, indent=2)
    others = [each for each in result["tickets"] if each not in result["taken"]]
    if others:
        yield Heading("Tickets of brokers that are being stopped")
        yield Entries(tuple(Entry(broker_ids(each["brokers"]), (_ticket(each),)) for each in others))
    yield from _waves(result)


def verdict(result: Result) -> str:
    """Return the answer in one sentence."""
    named = "; then ".join(brokers(each["brokers"]) for each in result["stops"])
    if result["asked"] == "release":
        return _released(result)
    if result["verdict"] == "yes":
        taken = "".join(f" Ticket: {_ticket(each)}." for each in result["taken"])
        return f"YES: {named} may stop now.{taken}"
    return f"NO: {named or 'these brokers'} must not stop now: {plural(len(result['reasons']), 'reason')}."


def _released(result: Result) -> str:
    if result["verdict"] == "no":
        return f"NO: the ticket is not released: {plural(len(result['reasons']), 'reason')}."
    if not result["released"]:
        return "YES: no ticket names these brokers."
    named = "; ".join(brokers(each["brokers"]) for each in result["released"])
    count = sum(len(each["brokers"]) for each in result["released"])
    return f"YES: {named} {agreeing('are', count)} back in every ISR, and the ticket is released."


def _ticket(ticket: Result) -> str:
    job = f", AWX job {ticket['job']}" if ticket["job"] else ""
    return f"{ticket['owner']}{job}, since {ticket['since']}, until {ticket['until']}"


def failure(result: Result) -> str:
    """Return why the play fails, with all reasons; empty if the answer is yes."""
    if result["verdict"] == "yes":
        return ""
    return f"{verdict(result)} " + "; ".join(str(each["text"]) for each in result["reasons"])


def _reason(reason: Result) -> Entry:
    return Entry(words(reason["kind"]), (str(reason["text"]), f"do: {reason['remedy']}"), "bold red")


def _stop(stop: Result) -> Row:
    cells = (
        stop["verdict"],
        number(stop["partitions"]),
        number(stop["leaders_that_move"]),
        number(stop["margin"]),
        broker_ids(stop["controllers"]),
        number(stop["controllers_to_spare"]),
    )
    return Row(cells, style="" if stop["verdict"] == "yes" else "bold yellow")


def _sets(racks: Mapping[int, str], sets: Sequence[Sequence[int]]) -> str:
    named = [in_racks(each, racks) for each in sets[:_MOST_SETS]]
    named += [f"{len(sets) - _MOST_SETS} more"] if len(sets) > _MOST_SETS else []
    return "; ".join([*named, *(["all alike"] if len(sets) > 1 else [])])


def _waves(result: Result) -> Iterator[Block]:
    if not result["waves"] and not result["in_no_wave"]:
        return
    yield Heading("To stop all brokers, one wave after the other")
    yield Paragraph("Before each wave, wait until the brokers of the last one are in sync, and ask again.", indent=2)
    waves = [
        Entry(f"{position}.", (f"{brokers(each['brokers'])}, {_rack(each['rack'])}",))
        for position, each in enumerate(result["waves"], 1)
    ]
    if result["in_no_wave"]:
        waves.append(Entry("none", (f"{brokers(result['in_no_wave'])} may not stop, not even alone",), "bold yellow"))
    yield Entries(tuple(waves))


def _rack(rack: str | None) -> str:
    return "without a rack" if rack is None else f"rack {rack}"
