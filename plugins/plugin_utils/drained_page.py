# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print whether drained brokers may stop, and how many partitions each one still leads. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import plural
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.variable import set_variable

from .command_words import playbook_words
from .page import Block, Command, Entries, Entry, Heading, Paragraph
from .words import Result, brokers, words

_NOT_KNOWN = "not known: nobody could be asked. Ask the playbook kafkaops.recovery.check_stop before a broker stops"


def blocks(stop: Result, variables: Result, *, is_check: bool) -> Iterator[Block]:
    """Return the answer for each listed broker, and for all together. ``stop`` is the result of stop_gate.

    It is empty if that was skipped. With ``is_check``, nothing was moved, and the answer is about the brokers as they
    are. ``variables`` are those of the playbook.
    """
    if not stop or stop.get("skipped"):
        return
    yield Heading("Safe to stop, as it is now (nothing was moved)" if is_check else "Safe to stop")
    if "stops" not in stop:
        yield Paragraph(f"{_NOT_KNOWN}: {stop['msg']}" if stop.get("msg") else _NOT_KNOWN, "bold yellow", indent=2)
        return
    yield Entries(tuple(_entry(each, stop["reasons"], is_check=is_check) for each in stop["stops"]))
    if stop["verdict"] == "no":
        yield Paragraph("Before a broker stops, ask again:", indent=2)
        yield Command(tuple(_command(stop, variables)))


def _entry(stop: Result, reasons: list[Result], *, is_check: bool) -> Entry:
    answer = "yes" if stop["verdict"] == "yes" else "no"
    leads = [each["partitions"] for each in stop["led"]]
    still = "leads" if is_check else "still leads"
    many = len(leads) > 1
    lines = [f"{answer}, all at the same time" if many else f"{answer}; {still} {plural(sum(leads), 'partition')}"]
    for each in reasons:
        if each["brokers"] == stop["brokers"]:
            lines += [f"{words(each['kind'])}: {each['text']}", f"do: {each['remedy']}"]
    return Entry(brokers(stop["brokers"]), tuple(lines), "bold green" if answer == "yes" else "bold red")


def _command(stop: Result, variables: Result) -> Iterator[str]:
    """Yield the words of the command that asks again about the brokers that may not stop."""
    refused = [each["brokers"] for each in stop["stops"] if each["verdict"] == "no"]
    if len(refused) == 1:
        asked = set_variable("stop_gate_brokers", ",".join(map(str, refused[0])))
    else:
        asked = set_variable("stop_gate_sets", ",".join("+".join(map(str, each)) for each in refused))
    yield from (*playbook_words("check_stop", "stop_gate", variables), *asked)
