# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print what was recorded of a cluster. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import plural

from .page import Block, Heading, Line, Paragraph, Row, Table
from .words import Result, size, words

_COLUMNS = ("Replicas", "Answered", "Stored", "Snapshot", "Size", "Expired")
_MISSING = ("No answer because", "Replicas")
_SILENT = ("Broker", "Why it gave no answer")


def blocks(result: Result) -> Iterator[Block]:
    """Return all blocks: the sentence, the numbers, and what gave no answer."""
    missing = result["missing"]
    unanswered = sum(missing.values())
    yield Paragraph(verdict(result), "bold yellow" if unanswered or result["silent_brokers"] else "bold")
    cells = (
        f"{result['replicas']:,}",
        f"{result['replicas'] - unanswered:,}",
        f"{result['stored_rows']:,}",
        "all replicas" if result["is_full"] else "what changed",
        "not written" if result["size_bytes"] is None else size(result["size_bytes"]),
        f"{result['expired']:,}",
    )
    yield Table(_COLUMNS, (Row(cells),), texts=("Snapshot", "Size"))
    if missing:
        yield Heading("Replicas that gave no answer")
        yield Table(
            _MISSING, tuple(Row((words(each), f"{count:,}")) for each, count in missing.items()), texts=_MISSING[:1]
        )
    if result["silent_brokers"]:
        yield Heading("Brokers that gave no answer")
        yield Table(
            _SILENT, tuple(Row((each, str(why))) for each, why in result["silent_brokers"].items()), texts=_SILENT
        )
    for each in result["notes"]:
        yield Paragraph(each)
    yield Line("")
    yield Line(f"Recording: {result['place']}")


def verdict(result: Result) -> str:
    """Say in one sentence what was recorded."""
    done = "Would store" if result["size_bytes"] is None else "Stored"
    replicas = plural(result["replicas"], "replica")
    what = (
        f"a full snapshot: {replicas}" if result["is_full"] else f"{result['stored_rows']:,} changed ones of {replicas}"
    )
    unanswered = sum(result["missing"].values())
    silent = f"; of all replicas, {unanswered:,} gave no answer" if unanswered else ""
    return f"{done} {what} of cluster {result['cluster_id']}{silent}."
