# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the section about replicas that partitions got back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._model.reasons import plural
from .._redundancy.plan import DONE_OR_FORESEEN
from .blocks import (
    Cell,
    ReportParagraph,
    Section,
    first_rows,
    format_ids,
    in_words,
    number_cell,
    partition_cell,
)


def build_redundancy_verdict(report: Mapping[str, Any]) -> tuple[str, str]:
    """Say how many partitions have their replicas. Returns the sentence and its tone."""
    bad = sum(each["status"] not in DONE_OR_FORESEEN for each in report["partitions"])
    good = len(report["partitions"]) - bad
    did = "get" if report["mode"] == "apply" else "would get"
    return f"{plural(good, 'partition')} {did} their replicas, and {bad:,} not.", "bad" if bad else "good"


def build_redundancy_plan_verdict(plan: Mapping[str, Any]) -> tuple[str, str]:
    """Say how many partitions are to get replicas. Returns the sentence and its tone."""
    left = len(plan["leftAlone"])
    return f"{plural(len(plan['moves']), 'partition')} are to get new replicas.", "warning" if left else "good"


def build_redundancy_section(report: Mapping[str, Any]) -> Section:
    """Build the section with the outcome of each partition."""
    worst_first = sorted(report["partitions"], key=lambda each: each["status"] in DONE_OR_FORESEEN)
    table = first_rows(
        "Partitions that lacked replicas",
        ("Partition", "Outcome", "Replicas before", "Replicas", "New on", "Bytes of each", "Why"),
        worst_first,
        lambda each: (
            partition_cell(each["topic"], each["partition"]),
            Cell(in_words(each["status"]), "good" if each["status"] in DONE_OR_FORESEEN else "bad"),
            Cell(format_ids(each["replicas"])),
            Cell(format_ids(each["target"])),
            Cell(format_ids(each["adding"])),
            number_cell(each["sizeBytes"]),
            Cell(each["reason"]),
        ),
    )
    lost = ReportParagraph(f"Brokers that were declared lost: {format_ids(report['lostBrokers'])}.")
    return Section(
        "Replicas of lost brokers", (lost, table, *(ReportParagraph(each, "warning") for each in report["notes"]))
    )
