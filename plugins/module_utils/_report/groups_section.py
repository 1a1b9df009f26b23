# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the section about committed offsets that groups got back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._groups.plan import DONE_OR_FORESEEN, ENDED_OR_FORESEEN
from .blocks import Cell, ReportParagraph, Section, first_rows, in_words, number_cell, partition_cell


def build_groups_verdict(report: Mapping[str, Any]) -> tuple[str, str]:
    """Say how many committed offsets were given back. Returns the sentence and its tone."""
    bad = sum(each["status"] not in DONE_OR_FORESEEN for each in report["commits"])
    good = len(report["commits"]) - bad
    did = "given back" if report["mode"] == "apply" else "to give back"
    still = sum(each["status"] not in ENDED_OR_FORESEEN for each in report["transactions"])
    tone = "bad" if bad or still or report["unknown"] else "good"
    hanging = f" Open transactions that no coordinator has: {still:,}." if still else ""
    return f"Committed offsets {did}: {good:,}; not given back: {bad:,}.{hanging}", tone


def build_groups_plan_verdict(plan: Mapping[str, Any]) -> tuple[str, str]:
    """Say how many committed offsets are to be given back. Returns the sentence and its tone."""
    tone = "warning" if plan["unknown"] else "good"
    return f"Committed offsets to give back: {len(plan['commits']):,}.", tone


def build_groups_section(report: Mapping[str, Any]) -> Section:
    """Build the section with the outcome of each committed offset."""
    worst_first = sorted(report["commits"], key=lambda each: each["status"] in DONE_OR_FORESEEN)
    table = first_rows(
        "Committed offsets that needed a change",
        ("Group", "Partition", "Need", "Outcome", "Before", "Saved", "Target", "Why"),
        worst_first,
        lambda each: (
            Cell(each["group"]),
            partition_cell(each["topic"], each["partition"]),
            Cell(in_words(each["need"])),
            Cell(in_words(each["status"]), "good" if each["status"] in DONE_OR_FORESEEN else "bad"),
            number_cell(each["committed"]),
            number_cell(each["saved"]),
            number_cell(each["target"]),
            Cell(each["reason"]),
        ),
    )
    transactions = first_rows(
        "Open transactions that no coordinator has",
        ("Partition", "Outcome", "Producer", "From offset", "Why"),
        sorted(report["transactions"], key=lambda each: each["status"] in ENDED_OR_FORESEEN),
        lambda each: (
            partition_cell(each["topic"], each["partition"]),
            Cell(in_words(each["status"]), "good" if each["status"] in ENDED_OR_FORESEEN else "bad"),
            number_cell(each["producerId"]),
            number_cell(each["startOffset"]),
            Cell(each["reason"]),
        ),
    )
    unknown = [
        ReportParagraph(f"{', '.join(each['groups']) or 'Groups'}: {each['reason']}", "bad")
        for each in report["unknown"]
    ]
    notes = [ReportParagraph(each, "warning") for each in report["notes"]]
    return Section("Committed offsets of groups", (table, transactions, *unknown, *notes))
