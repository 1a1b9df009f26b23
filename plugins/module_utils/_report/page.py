# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build one page about one incident from all documents, most important first."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .._cleaner.diagnosis import HEALTHY_CASES
from .._model.partition import TopicPartition, grouped
from .._model.reasons import plural
from .._model.run import garbage_collection_paused
from .._recovery.next_way import describe_first
from .._recovery.outcome import Outcome, outcomes_of_plan
from .._recovery.verdict import describe_doubtful, describe_engine
from .._salvage.account import Balance, sum_balances
from .._salvage.manifest import MANIFEST
from .blocks import Block, Cell, Folded, ReportParagraph, ReportTable, Section, number_cell
from .charts import can_draw
from .exposure_section import build_exposure_sections, build_exposure_verdict
from .groups_section import build_groups_plan_verdict, build_groups_section, build_groups_verdict
from .incident import Incident, merge_aftermath, merge_outcomes
from .next_section import Situation, build_next_section
from .recovery_sections import build_recovery_sections, build_recovery_verdict, judge_recovery, read_outcomes
from .redundancy_section import (
    build_redundancy_plan_verdict,
    build_redundancy_section,
    build_redundancy_verdict,
)
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
from .sources import MAX_RAW_BYTES, SALVAGE_KINDS, Approval, DocumentKind, Skipped, Source
from .stop_gate_section import build_gate_section, build_gate_verdict
from .timeline import build_timeline_sections

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


@dataclass(frozen=True, slots=True)
class Page:
    """Input of the template."""

    title: str
    verdict: str
    tone: str
    """good, warning or bad."""
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]


def build_page(
    sources: Sequence[Source], title: str, approvals: Sequence[Approval] = (), skipped: Sequence[Skipped] = ()
) -> Page:
    """Build the page of all documents. The verdict is about what all plans and runs together made of each partition."""
    with garbage_collection_paused():
        return _build_page(sources, title, approvals, skipped)


def _build_page(
    sources: Sequence[Source], title: str, approvals: Sequence[Approval], skipped: Sequence[Skipped]
) -> Page:
    looks = sorted(
        (each for each in sources if each.kind in (DocumentKind.PLAN, DocumentKind.RECOVERY)), key=_time_of_look
    )
    incident = _merge_by_cluster(looks)
    reports = [each.content for each in looks if each.kind is DocumentKind.RECOVERY]
    brokers: Sequence[dict[str, Any]] = next((each["brokers"] for each in reversed(reports) if each["brokers"]), [])
    aftermath = merge_aftermath(each["aftermath"] for each in reports)
    surveys = _of_kind(sources, DocumentKind.SURVEY)
    advised = (each.content["start_order"] for each in reversed(surveys))
    start_order: Sequence[dict[str, Any]] = next(filter(None, advised), [])
    salvaged = {kind: [each.content for each in _of_kind(sources, kind)] for kind in SALVAGE_KINDS}
    main: list[Section] = []
    if looks and (incident.outcomes or reports):
        saved = find_saved_ranges(salvaged[DocumentKind.MANIFEST], salvaged[DocumentKind.DISK_SALVAGE])
        main += build_recovery_sections(incident, brokers, aftermath, saved)
    account, is_settled, balances = "", False, {}
    if any(salvaged.values()):
        elections = (*incident.earlier, *incident.outcomes)
        balances = compute_balances(elections, *salvaged.values())
        account, is_settled = build_account_verdict(elections, balances, salvaged[DocumentKind.DISK_SALVAGE])
        main.append(build_account_section(balances))
    situation = Situation(
        kinds=frozenset(each.kind for each in sources),
        outcomes=incident.outcomes,
        is_offline=not looks and any(each.content["partitions"] for each in surveys[-1:]),
        brokers=brokers or [_as_in_reports(each) for survey in surveys[-1:] for each in survey.content["brokers"]],
        start_order=start_order,
        aftermath=aftermath,
        plan_file=os.path.abspath(looks[-1].path) if looks and looks[-1].kind is DocumentKind.PLAN else None,
        saved_in=_list_unreplayed(sources, balances),
        damaged=[each for each in skipped if each.is_damaged],
    )
    first = describe_first(situation.returns) if start_order else ""
    if incident.outcomes:
        verdict = build_recovery_verdict(incident, first, account)
        tone = judge_recovery(incident, is_settled=is_settled if account else None)
    else:
        verdict, tone = _describe_first(sources, first)
    if tone == "good" and situation.damaged:
        tone = "warning"
    clusters = dict.fromkeys(filter(None, map(_cluster_id, sources)))
    return Page(
        title,
        verdict,
        tone,
        (("Cluster", ", ".join(clusters) or "unknown"), ("Documents", str(len(sources)))),
        tuple(
            chain(
                _build_warnings(list(clusters), incident.outcomes, skipped),
                build_timeline_sections(sources, approvals, (*incident.outcomes, *incident.earlier)),
                main,
                chain.from_iterable(_build_other_sections(each) for each in sources),
                [_appendix(sources), build_next_section(situation)],
            )
        ),
    )


def _as_in_reports(broker: Mapping[str, Any]) -> dict[str, Any]:
    """Return a survey's broker, which has names in snake_case, with the names of reports."""
    return {**broker, "brokerId": broker["broker_id"]}


def _time_of_look(source: Source) -> str:
    """Return when a plan or run looked at the partitions. Times of documents are UTC, and sort as text."""
    at: str = source.content.created_at if source.kind is DocumentKind.PLAN else source.content["finishedAt"]
    return at


def _merge_by_cluster(looks: Sequence[Source]) -> Incident:
    """Merge the outcomes of each cluster: two clusters may have topics of the same name."""
    clusters = grouped(
        (
            _cluster_id(each),
            outcomes_of_plan(each.content) if each.kind is DocumentKind.PLAN else read_outcomes(each.content),
        )
        for each in looks
    )
    merged = [merge_outcomes(each) for each in clusters.values()]
    return Incident(
        tuple(chain.from_iterable(each.outcomes for each in merged)),
        tuple(chain.from_iterable(each.earlier for each in merged)),
    )


def _list_unreplayed(sources: Sequence[Source], balances: Mapping[TopicPartition, Balance]) -> list[str]:
    """Return the directories of salvages if records are still lost that they have."""
    if not sum_balances(balances.values()).at_hand:
        return []
    manifests = [os.path.abspath(each.path) for each in _of_kind(sources, DocumentKind.MANIFEST)]
    return [os.path.dirname(each) for each in manifests if os.path.basename(each) == MANIFEST]


def _describe_first(sources: Sequence[Source], first: str) -> tuple[str, str]:
    """Return a sentence about the first document that is no manifest, and its tone.

    ``first`` says which broker to start first, if a document does; else it is empty.
    """
    for source in sources:
        content = source.content
        if source.kind in _VERDICTS:
            return _VERDICTS[source.kind](content)
        match source.kind:
            case DocumentKind.RECOVERY:
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
            case DocumentKind.EVIDENCE:
                return f"Evidence of {plural(len(content.partitions), 'partition')}; nothing was decided.", "warning"
    return "There is nothing to report.", "good"


def _of_kind(sources: Sequence[Source], kind: DocumentKind) -> list[Source]:
    return [each for each in sources if each.kind is kind]


def _build_warnings(clusters: list[str], outcomes: Sequence[Outcome], skipped: Sequence[Skipped]) -> Iterator[Section]:
    notes: list[Block] = []
    damaged = [each for each in skipped if each.is_damaged]
    foreign = [each.path for each in skipped if not each.is_damaged]
    if damaged:
        text = f"{plural(len(damaged), 'file')} of the directory could not be read. Their content is not on this page."
        notes.append(ReportParagraph(text, "bad"))
        notes += [Folded(each.path, each.reason) for each in damaged]
    if foreign:
        notes.append(
            ReportParagraph(f"Skipped, because they are no documents of this collection: {', '.join(foreign)}.")
        )
    if len(clusters) > 1:
        notes.append(ReportParagraph(f"The documents are about {len(clusters)} different clusters.", "bad"))
    if not can_draw() and outcomes:
        notes.append(ReportParagraph("Pictures are missing: vl-convert-python is not installed.", "warning"))
    if notes:
        yield Section("Limits of this report", tuple(notes))


def _build_other_sections(source: Source) -> Iterator[Section]:
    sections: dict[DocumentKind, Callable[[Any], Section]] = {
        DocumentKind.QUORUM: build_quorum_section,
        DocumentKind.CLEANER: build_cleaner_section,
        DocumentKind.LEADERSHIP: build_leadership_section,
        DocumentKind.SURVEY: build_survey_section,
        DocumentKind.READINESS: build_readiness_section,
        DocumentKind.STOP_GATE: build_gate_section,
        DocumentKind.REDUNDANCY: build_redundancy_section,
        DocumentKind.GROUPS: build_groups_section,
        DocumentKind.DISK_SALVAGE: build_disk_section,
        DocumentKind.REPLAY: build_replay_section,
    }
    if source.kind is DocumentKind.EXPOSURE:
        yield from build_exposure_sections(source.content)
    if source.kind in sections:
        yield sections[source.kind](source.content)
    if source.kind is DocumentKind.EVIDENCE:
        yield build_evidence_section(source.content)


def _cluster_id(source: Source) -> str | None:
    content = source.content
    if source.kind in (DocumentKind.PLAN, DocumentKind.EVIDENCE):
        cluster_id: str = content.cluster_id
        return cluster_id
    found: str | None = content.get("clusterId", content.get("cluster_id"))
    return found


def _appendix(sources: Sequence[Source]) -> Section:
    rows = tuple(
        (Cell(each.path), Cell(each.kind.value), number_cell(each.size_bytes), Cell(each.sha256), Cell(_options(each)))
        for each in sources
    )
    raw, left = [], MAX_RAW_BYTES
    for each in sources:
        if each.raw and len(each.raw) <= left:
            left -= len(each.raw)
            raw.append(Folded(f"{each.path} ({each.kind.value})", each.raw.decode("utf-8")))
    note = "JSON that is missing below is too large for this page. Its digest identifies the file."
    return Section(
        "Appendix",
        (
            ReportTable("Documents", ("File", "Kind", "Bytes", "SHA-256", "Options"), rows),
            ReportParagraph(note),
            *raw,
        ),
    )


def _options(source: Source) -> str:
    content = source.content
    match source.kind:
        case DocumentKind.RECOVERY:
            engine = describe_engine(content["engine"])
            return ", ".join(filter(None, [f"schema {content['schemaVersion']}, mode {content['mode']}", engine]))
        case DocumentKind.LEADERSHIP | DocumentKind.REDUNDANCY:
            return f"schema {content['schemaVersion']}, mode {content['mode']}"
        case DocumentKind.READINESS | DocumentKind.STOP_GATE | DocumentKind.REDUNDANCY_PLAN | DocumentKind.EXPOSURE:
            return f"schema {content['schemaVersion']}"
        case DocumentKind.REPLAY:
            return f"target {content['target']}"
        case DocumentKind.QUORUM:
            return f"schema {content['schemaVersion']}, window {content['windowMs']:,} ms"
        case DocumentKind.CLEANER:
            return f"schema {content['schemaVersion']}, {'check' if content['isCheck'] else 'apply'}"
        case DocumentKind.EVIDENCE:
            return f"collection {content.collection_version}"
    return "none"
