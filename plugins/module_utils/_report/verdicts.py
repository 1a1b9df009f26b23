# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Say in one sentence what documents without outcomes found. The worst answer counts, and the newest of two."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from .._cleaner.diagnosis import HEALTHY_CASES
from .._model.reasons import plural
from .._recovery.verdict import describe_doubtful
from .exposure_section import build_exposure_verdict
from .groups_section import build_groups_plan_verdict, build_groups_verdict
from .redundancy_section import build_redundancy_plan_verdict, build_redundancy_verdict
from .salvage_runs import build_disk_verdict, build_replay_verdict
from .sections import build_readiness_verdict
from .sources import DocumentKind, Source
from .stop_gate_section import build_gate_verdict

TONES = ("good", "warning", "bad")
"""Best first."""

_VERDICTS: Mapping[DocumentKind, Callable[[Any], tuple[str, str]]] = {
    DocumentKind.READINESS: build_readiness_verdict,
    DocumentKind.STOP_GATE: build_gate_verdict,
    DocumentKind.REDUNDANCY: build_redundancy_verdict,
    DocumentKind.REDUNDANCY_PLAN: build_redundancy_plan_verdict,
    DocumentKind.GROUPS: build_groups_verdict,
    DocumentKind.GROUPS_PLAN: build_groups_plan_verdict,
    DocumentKind.DISK_SALVAGE: build_disk_verdict,
    DocumentKind.REPLAY: build_replay_verdict,
    DocumentKind.EXPOSURE: build_exposure_verdict,
}

_LOOKS = (DocumentKind.RECOVERY, DocumentKind.PLAN, DocumentKind.SURVEY, DocumentKind.EVIDENCE)
_FAMILIES: Mapping[DocumentKind, DocumentKind] = {
    **dict.fromkeys(_LOOKS, DocumentKind.SURVEY),
    DocumentKind.REDUNDANCY_PLAN: DocumentKind.REDUNDANCY,
    DocumentKind.GROUPS_PLAN: DocumentKind.GROUPS,
}
"""Kinds of documents that answer the same question, under one name."""
_TIMES = ("finishedAt", "startedAt", "createdAt", "takenAt", "writtenAt", "looked_at")


def time_of(source: Source) -> str:
    """Return when a document says that it looked. Times are UTC, and sort as text."""
    content = source.content
    if source.kind is DocumentKind.PLAN:
        return str(content.created_at)
    if source.kind is DocumentKind.EVIDENCE:
        return str(content.gathered_at)
    return next((str(content[each]) for each in _TIMES if each in content), "")


def judge_documents(sources: Sequence[Source], first: str) -> tuple[str, str]:
    """Return the verdict of documents of one cluster, and its tone: the worst one, with all that led to it.

    An answer does not count if a newer document answers the same question, at least about the same things: a bad look
    before a good one is past. ``first`` says which broker to start first, if a document does; else it is empty.
    """
    current = [each for each in sources if not any(_supersedes(other, each) for other in sources)]
    # A manifest only says what was saved.
    ordered = sorted(current, key=lambda each: each.kind is DocumentKind.MANIFEST)
    found = [_describe(each, first) for each in ordered]
    if not found:
        return "There is nothing to report.", "good"
    worst = max((tone for _text, tone in found), key=TONES.index)
    texts = dict.fromkeys(text for text, tone in found if tone == worst)
    return next(iter(texts)) if worst == "good" else " ".join(texts), worst


def _supersedes(newer: Source, older: Source) -> bool:
    if newer.kind is DocumentKind.EVIDENCE:  # it says what replicas hold, and not what is offline
        return False
    return (
        _FAMILIES.get(newer.kind, newer.kind) is _FAMILIES.get(older.kind, older.kind)
        and time_of(newer) > time_of(older)
        and _find_scope(newer) >= _find_scope(older)
    )


def _find_scope(source: Source) -> frozenset[Hashable]:
    """Return what a document is about; empty if it is about the whole cluster."""
    content = source.content
    match source.kind:
        case DocumentKind.STOP_GATE:
            return frozenset(broker for each in content["stops"] for broker in each["brokers"])
        case DocumentKind.CLEANER:
            return frozenset(each["brokerId"] for each in content["after"])
        case DocumentKind.LEADERSHIP:
            return frozenset((each["topic"], each["partition"]) for each in content["orders"])
        case DocumentKind.REDUNDANCY | DocumentKind.REDUNDANCY_PLAN:
            return frozenset(content["lostBrokers"])
        case DocumentKind.GROUPS | DocumentKind.GROUPS_PLAN:
            return frozenset((each["group"], each["topic"], each["partition"]) for each in content["commits"])
        case DocumentKind.DISK_SALVAGE:
            return frozenset([content["brokerId"]])
        case DocumentKind.REPLAY | DocumentKind.MANIFEST:
            return frozenset([content["salvageId"]])
    return frozenset()


def _describe(source: Source, first: str) -> tuple[str, str]:
    """Return a sentence about one document, and its tone."""
    content = source.content
    if source.kind in _VERDICTS:
        return _VERDICTS[source.kind](content)
    match source.kind:
        case DocumentKind.RECOVERY | DocumentKind.PLAN:
            return "No partition is offline.", "good"
        case DocumentKind.SURVEY:
            count = len(content["partitions"])
            start = f"; {first}" if first else ""
            doubtful = describe_doubtful(content["led_by_silent"], content["led_by_replaced"])
            tone = "bad" if count or doubtful else "good"
            return f"{doubtful}{plural(count, 'partition', 'have')} no leader{start}.", tone
        case DocumentKind.QUORUM:
            allowed = content["verdicts"]["elections"]["allowed"]
            return f"Elections {'may' if allowed else 'must not'} be requested.", "good" if allowed else "bad"
        case DocumentKind.CLEANER:
            is_well = [each["diagnosis"] in HEALTHY_CASES for each in content["after"]]
            text = f"{sum(is_well)} of {len(is_well)} log cleaners are healthy or idle."
            return text, "good" if all(is_well) else "bad"
        case DocumentKind.LEADERSHIP:
            bad = sum(each["status"] in ("failed", "conflict") for each in content["orders"])
            return f"{bad:,} replica orders are not as requested.", "bad" if bad else "good"
        case DocumentKind.MANIFEST:
            return (
                f"{plural(sum(each['records'] for each in content['partitions']), 'record', 'were')} saved.",
                "good",
            )
    return f"Evidence of {plural(len(content.partitions), 'partition')}; nothing was decided.", "warning"
