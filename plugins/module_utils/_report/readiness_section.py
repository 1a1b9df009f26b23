# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The section about the readiness for a recovery. Standard library only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from .blocks import Block, Cell, Paragraph, Section, Table, number

_TONES = {"failed": "bad", "unknown": "bad", "warning": "warning", "ok": "good"}
_WORDS = {"failed": "failed", "unknown": "could not be found out", "warning": "warning", "ok": "fine"}


def readiness_verdict(report: Mapping[str, Any]) -> tuple[str, str]:
    """Return whether a recovery would work, and the tone to say it in. What could not be found out counts as failed."""
    counts = Counter(each["status"] for each in report["checks"])
    found = [f"{counts[status]:,} {_WORDS[status]}" for status in ("failed", "unknown") if counts[status]] + [
        f"{counts['warning']:,} warning{'' if counts['warning'] == 1 else 's'}" if counts["warning"] else "no warnings"
    ]
    head = "A recovery would work" if report["isReady"] else "A recovery would not work as it should"
    tone = "bad" if not report["isReady"] else "warning" if counts["warning"] else "good"
    return f"{head}: {', '.join(found)} of {len(report['checks']):,} checks.", tone


def readiness_section(report: Mapping[str, Any]) -> Section:
    """Every check, worst first, and what the death of each broker would do."""
    checks = tuple(
        (
            Cell(_WORDS[each["status"]], _TONES[each["status"]]),
            Cell(each["name"].replace("_", " ")),
            Cell(each["subject"] or "the cluster or this host"),
            Cell(each["found"]),
            Cell(each["remedy"] or "nothing"),
        )
        for each in report["checks"]
    )
    losses = tuple(
        (
            number(each["brokerId"]),
            number(each["offlinePartitions"]),
            number(each["unrecoverablePartitions"]),
            number(each["belowMinIsrPartitions"]),
            Cell(each["offline"] or "none"),
        )
        for each in report["brokerLosses"]
    )
    blocks: list[Block] = [
        Table("Checks, worst first", ("Result", "Check", "About", "Found", "What to do"), checks),
        Table(
            "If one broker died now",
            ("Broker", "Partitions without a leader", "Of these, without any replica", "Below min ISR", "Which"),
            losses,
        ),
        Paragraph(
            "Partitions without any replica are on no other broker that lives. Partitions below min ISR would have a "
            "leader, and take no more records with acks=all."
        ),
    ]
    return Section("Readiness for a recovery", tuple(blocks))
