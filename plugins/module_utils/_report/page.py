# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build one page about one incident from all documents, most important first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .._cleaner.diagnosis import HEALTHY_CASES
from .._model.run import garbage_collection_paused
from .._recovery.outcome import Outcome, outcomes_of_plan
from .._recovery.plan import DONE, Status
from .._recovery.verdict import describe_first_step
from .blocks import Cell, Folded, Paragraph, Section, Table, format_ids, number_cell, plural
from .charts import can_draw
from .recovery_sections import build_recovery_sections, build_recovery_verdict, read_outcomes
from .salvage_runs import build_disk_section, build_disk_verdict, build_replay_section, build_replay_verdict
from .salvage_section import build_account_section, build_account_verdict, compute_balances, find_saved_ranges
from .sections import (
    build_cleaner_section,
    build_evidence_section,
    build_leadership_section,
    build_quorum_section,
    build_readiness_section,
    build_readiness_verdict,
    build_survey_section,
)
from .sources import SALVAGE_KINDS, Approval, Kind, Source
from .stop_gate_section import build_gate_section, build_gate_verdict

_MAX_RAW_BYTES = 1024 * 1024
"""Limit for the JSON of all documents in the appendix. For larger documents, the page has the digest only."""

_ABOUT_LEADERS = frozenset({Kind.RECOVERY, Kind.PLAN, Kind.SURVEY, Kind.EVIDENCE})

_VERDICTS: Mapping[Kind, Callable[[Any], tuple[str, str]]] = {
    Kind.READINESS: build_readiness_verdict,
    Kind.STOP_GATE: build_gate_verdict,
    Kind.DISK_SALVAGE: build_disk_verdict,
    Kind.REPLAY: build_replay_verdict,
}


@dataclass(frozen=True, slots=True)
class Page:
    """Input of the template."""

    title: str
    verdict: str
    tone: str
    """good, warning or bad."""
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class _Event:
    at: str
    what: str
    actor: str


def build_page(sources: Sequence[Source], title: str, approvals: Sequence[Approval] = ()) -> Page:
    """Build the page of all documents. If there are several recovery reports, the last one gives the verdict."""
    with garbage_collection_paused():
        return _build_page(sources, title, approvals)


def _build_page(sources: Sequence[Source], title: str, approvals: Sequence[Approval]) -> Page:
    recoveries = _of_kind(sources, Kind.RECOVERY)
    recoveries.sort(key=lambda each: each.content["finishedAt"])
    surveys = _of_kind(sources, Kind.SURVEY)
    advice = next((each.content["start_order"][0] for each in surveys if each.content["start_order"]), None)
    first = describe_first_step(advice["broker_id"], is_running=advice["is_running"]) if advice else ""
    salvaged = {kind: [each.content for each in _of_kind(sources, kind)] for kind in SALVAGE_KINDS}
    saved = find_saved_ranges(salvaged[Kind.MANIFEST], salvaged[Kind.DISK_SALVAGE])
    outcomes: tuple[Outcome, ...] = ()
    main: list[Section] = []
    if recoveries:
        last = recoveries[-1].content
        outcomes = read_outcomes(last)
        main += build_recovery_sections(outcomes, last["brokers"], last["aftermath"], saved)
    elif plans := _of_kind(sources, Kind.PLAN):
        outcomes = outcomes_of_plan(plans[-1].content)
        main += build_recovery_sections(outcomes, (), (), saved)
    account = ""
    if any(salvaged.values()):
        balances = compute_balances(outcomes, *salvaged.values())
        account = build_account_verdict(outcomes, balances, salvaged[Kind.DISK_SALVAGE])
        main.append(build_account_section(balances))
    verdict, tone = _verdict(sources, outcomes, first, account)
    clusters = dict.fromkeys(filter(None, map(_cluster_id, sources)))
    about_leaders = any(each.kind in _ABOUT_LEADERS for each in sources)
    timeline = (*_timeline(sources), *(_Event(each.at, each.what, each.by) for each in approvals))
    return Page(
        title,
        verdict,
        tone,
        (("Cluster", ", ".join(clusters) or "unknown"), ("Documents", str(len(sources)))),
        tuple(
            chain(
                _build_warnings(list(clusters), outcomes),
                [_timeline_section(timeline, about_leaders=about_leaders)] if timeline else [],
                main,
                chain.from_iterable(_build_other_sections(each) for each in sources),
                [_appendix(sources)],
            )
        ),
    )


def _verdict(sources: Sequence[Source], outcomes: Sequence[Outcome], first: str, account: str) -> tuple[str, str]:
    """Return the first sentence of the page and its tone: about the recovery, or else about the first document.

    ``first`` says which broker to start first, if a document does; else it is empty. ``account`` says what is still
    lost, if known.
    """
    if outcomes:
        statuses = {each.status for each in outcomes}
        tone = "good" if statuses <= DONE else "bad" if Status.FAILED in statuses else "warning"
        return build_recovery_verdict(outcomes, first, account), tone
    for source in sources:
        content = source.content
        if source.kind in _VERDICTS:
            return _VERDICTS[source.kind](content)
        match source.kind:
            case Kind.RECOVERY:
                return "No partition is offline.", "good"
            case Kind.SURVEY:
                count = len(content["partitions"])
                start = f"; {first}" if first else ""
                has = "has" if count == 1 else "have"
                return f"{plural(count, 'partition')} {has} no leader{start}.", "bad" if count else "good"
            case Kind.QUORUM:
                allowed = content["verdicts"]["elections"]["allowed"]
                return f"Elections {'may' if allowed else 'must not'} be requested.", "good" if allowed else "bad"
            case Kind.CLEANER:
                is_well = [each["diagnosis"] in HEALTHY_CASES for each in content["after"]]
                text = f"{sum(is_well)} of {len(is_well)} log cleaners are healthy or idle."
                return text, "good" if all(is_well) else "bad"
            case Kind.LEADERSHIP:
                bad = sum(each["status"] in ("failed", "conflict") for each in content["orders"])
                return f"{bad:,} replica orders are not as requested.", "bad" if bad else "good"
            case Kind.MANIFEST:
                return f"{sum(each['records'] for each in content['partitions']):,} records were saved.", "good"
            case Kind.EVIDENCE:
                return f"Evidence of {len(content.partitions):,} partitions; nothing was decided.", "warning"
    return "There is nothing to report.", "good"


def _of_kind(sources: Sequence[Source], kind: Kind) -> list[Source]:
    return [each for each in sources if each.kind is kind]


def _build_warnings(clusters: list[str], outcomes: Sequence[Outcome]) -> Iterator[Section]:
    notes = []
    if len(clusters) > 1:
        notes.append(Paragraph(f"The documents are about {len(clusters)} different clusters.", "bad"))
    if not can_draw() and outcomes:
        notes.append(Paragraph("Pictures are missing: vl-convert-python is not installed.", "warning"))
    if notes:
        yield Section("Limits of this report", tuple(notes))


def _build_other_sections(source: Source) -> Iterator[Section]:
    sections: dict[Kind, Callable[[Any], Section]] = {
        Kind.QUORUM: build_quorum_section,
        Kind.CLEANER: build_cleaner_section,
        Kind.LEADERSHIP: build_leadership_section,
        Kind.SURVEY: build_survey_section,
        Kind.READINESS: build_readiness_section,
        Kind.STOP_GATE: build_gate_section,
        Kind.DISK_SALVAGE: build_disk_section,
        Kind.REPLAY: build_replay_section,
    }
    if source.kind in sections:
        yield sections[source.kind](source.content)
    if source.kind is Kind.EVIDENCE:
        yield build_evidence_section(source.content)


def _cluster_id(source: Source) -> str | None:
    content = source.content
    if source.kind in (Kind.PLAN, Kind.EVIDENCE):
        cluster_id: str = content.cluster_id
        return cluster_id
    found: str | None = content.get("clusterId", content.get("cluster_id"))
    return found


def _timeline(sources: Sequence[Source]) -> Iterator[_Event]:
    for source in sources:
        content = source.content
        match source.kind:
            case Kind.EVIDENCE:
                yield _Event(content.gathered_at, "replicas asked what they hold", "leader_candidate_info")
            case Kind.PLAN:
                yield _Event(
                    content.created_at, f"{len(content.elections):,} elections planned", "leader_candidate_info"
                )
            case Kind.RECOVERY:
                is_check = content["mode"] == "check"
                yield _Event(content["startedAt"], "check began" if is_check else "recovery began", "unclean_recovery")
                counts = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in content["summary"].items() if n)
                yield _Event(content["finishedAt"], f"{counts or 'nothing was offline'}; verified", "unclean_recovery")
            case Kind.LEADERSHIP:
                yield _Event(content["startedAt"], "change of replica orders began", "leadership_drain")
                yield _Event(content["finishedAt"], "replica orders and leaders verified", "leadership_drain")
            case Kind.CLEANER:
                what = "log cleaners inspected" if content["isCheck"] else "log cleaners inspected and repaired"
                yield _Event(content["writtenAt"], what, "log_cleaner_recovery")
            case Kind.QUORUM:
                yield _Event(content["startedAt"], "controller quorum inspected", "quorum_preflight")
            case Kind.READINESS:
                yield _Event(content["startedAt"], "readiness for a recovery checked", "readiness")
            case Kind.STOP_GATE:
                ids = "; then ".join(format_ids(each["brokers"]) for each in content["stops"])
                yield _Event(content["startedAt"], f"may brokers {ids} stop? {content['verdict']}", "stop_gate")
            case Kind.MANIFEST:
                records = sum(each["records"] for each in content["partitions"])
                yield _Event(content["takenAt"], f"{records:,} records saved", "salvage")
            case Kind.DISK_SALVAGE:
                what = f"disks of broker {content['brokerId']} compared with the leaders"
                yield _Event(content["finishedAt"], what, "log_salvage")
            case Kind.REPLAY:
                given = sum(each["given"] for each in content["partitions"])
                yield _Event(content["finishedAt"], f"{given:,} records given back", "salvage_replay")


def _timeline_section(events: Sequence[_Event], *, about_leaders: bool) -> Section:
    rows = tuple(
        (Cell(each.at), Cell(each.what), Cell(each.actor)) for each in sorted(events, key=lambda each: each.at)
    )
    note = Paragraph("No document says when the leaders were lost: see the logs of the brokers and controllers.")
    table = Table("Times are UTC", ("Time", "Event", "By"), rows)
    return Section("Timeline", (table, note) if about_leaders else (table,))


def _appendix(sources: Sequence[Source]) -> Section:
    rows = tuple(
        (Cell(each.path), Cell(each.kind.value), number_cell(each.size_bytes), Cell(each.sha256), Cell(_options(each)))
        for each in sources
    )
    raw, left = [], _MAX_RAW_BYTES
    for each in sources:
        if each.raw and len(each.raw) <= left:
            left -= len(each.raw)
            raw.append(Folded(f"{each.path} ({each.kind.value})", each.raw.decode("utf-8")))
    note = "JSON that is missing below is too large for this page. Its digest identifies the file."
    return Section(
        "Appendix",
        (Table("Documents", ("File", "Kind", "Bytes", "SHA-256", "Options"), rows), Paragraph(note), *raw),
    )


def _options(source: Source) -> str:
    content = source.content
    match source.kind:
        case Kind.RECOVERY | Kind.LEADERSHIP:
            return f"schema {content['schemaVersion']}, mode {content['mode']}"
        case Kind.READINESS | Kind.STOP_GATE:
            return f"schema {content['schemaVersion']}"
        case Kind.REPLAY:
            return f"target {content['target']}"
        case Kind.QUORUM:
            return f"schema {content['schemaVersion']}, window {content['windowMs']:,} ms"
        case Kind.CLEANER:
            return f"schema {content['schemaVersion']}, {'check' if content['isCheck'] else 'apply'}"
        case Kind.EVIDENCE:
            return f"collection {content.collection_version}"
    return "none"
