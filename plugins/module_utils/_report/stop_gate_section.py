# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the section about the stop gate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._model.reasons import plural
from .blocks import Block, Cell, ReportParagraph, ReportTable, Section, format_ids, in_words, number_cell

_TONES = {"yes": "good", "no": "bad"}


def build_gate_verdict(report: Mapping[str, Any]) -> tuple[str, str]:
    """Say whether the brokers may stop. Returns the sentence and its tone."""
    named = "; then ".join(format_ids(each["brokers"]) for each in report["stops"]) or "none"
    if report["verdict"] == "yes":
        return f"These brokers may stop: {named}.", "good"
    return f"These brokers must not stop: {named}; {plural(len(report['reasons']), 'reason')}.", "bad"


def build_gate_section(report: Mapping[str, Any]) -> Section:
    """Build the section with all reasons, what would move, and the waves."""
    reasons = tuple(
        (
            Cell(in_words(each["kind"]), "bad"),
            Cell(format_ids(each["brokers"])),
            Cell(each["text"]),
            number_cell(len(each["partitions"])),
            Cell(each["remedy"]),
        )
        for each in report["reasons"]
    )
    stops = tuple(
        (
            Cell(format_ids(each["brokers"])),
            Cell(each["verdict"], _TONES[each["verdict"]]),
            number_cell(each["partitions"]),
            number_cell(each["leadersThatMove"]),
            number_cell(each["margin"]),
            number_cell(each["controllersToSpare"]),
            Cell("; ".join(each["changes"]) or "nothing"),
        )
        for each in report["stops"]
    )
    waves = tuple((Cell(each["rack"] or "none"), Cell(format_ids(each["brokers"]))) for each in report["waves"])
    blocks: list[Block] = [
        ReportTable("Reasons, worst first", ("Reason", "Brokers", "Found", "Partitions", "What to do"), reasons),
        ReportTable(
            "If they stop now",
            (
                "Brokers",
                "May stop",
                "Partitions",
                "Leaders that move",
                "ISR margin",
                "Controllers to spare",
                "What would make it a yes",
            ),
            stops,
        ),
        *(ReportParagraph(each, "warning") for each in report["notes"]),
        ReportTable("Waves in which all brokers can stop", ("Rack", "Brokers"), waves),
        ReportParagraph(f"Brokers that may not stop, not even alone: {format_ids(report['inNoWave'])}."),
    ]
    return Section("May these brokers stop?", tuple(blocks))
