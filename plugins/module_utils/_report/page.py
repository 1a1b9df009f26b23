# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build one page about one incident from all documents, most important first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from .._model.partition import grouped
from .._model.reasons import join_first, plural
from .._model.run import garbage_collection_paused
from .._recovery.verdict import describe_engine
from .blocks import Block, Cell, Folded, ReportParagraph, ReportTable, Section, number_cell
from .charts import can_draw
from .cluster_part import ClusterPart, build_part
from .sources import MAX_RAW_BYTES, Approval, DocumentKind, Skipped, Source
from .verdicts import TONES

_MOST_FILES = 8


@dataclass(frozen=True, slots=True)
class Page:
    """Input of the template."""

    title: str
    verdict: str
    tone: str
    """good, warning or bad."""
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]


@garbage_collection_paused()
def build_page(
    sources: Sequence[Source], title: str, approvals: Sequence[Approval] = (), skipped: Sequence[Skipped] = ()
) -> Page:
    """Build the page of all documents. The verdict is about what all plans and runs together made of each partition."""
    by_cluster = _divide(sources)
    damaged = [each for each in skipped if each.is_damaged]
    parts: dict[str, ClusterPart] = {}
    for name, of_cluster in by_cluster.items():
        paths = {"", *(each.path for each in of_cluster)}
        # Of which cluster a damaged file is, nobody knows: it is named once.
        parts[name] = build_part(of_cluster, [each for each in approvals if each.plan in paths], damaged)
        damaged = []
    tone = max((each.tone for each in parts.values()), key=TONES.index)
    if tone == "good" and any(each.is_damaged for each in skipped):
        tone = "warning"
    has_outcomes = any(each.outcomes for each in parts.values())
    if len(parts) == 1:
        (part,) = parts.values()
        sections = [*part.sections, _appendix(sources), part.next]
    else:
        named = chain.from_iterable(_list_sections(name, each) for name, each in parts.items())
        sections = [*named, _appendix(sources)]
    clusters = dict.fromkeys(filter(None, map(_cluster_id, sources)))
    return Page(
        title,
        _join_verdicts(parts),
        tone,
        (("Cluster", ", ".join(clusters) or "unknown"), ("Documents", str(len(sources)))),
        (*_build_warnings(by_cluster, skipped, has_outcomes=has_outcomes), *sections),
    )


def _divide(sources: Sequence[Source]) -> dict[str, list[Source]]:
    """Return the documents by cluster. If only one cluster is named, all are about it."""
    found = grouped((_cluster_id(each) or "", each) for each in sources)
    named = [each for each in found if each]
    if len(named) <= 1:
        return {"".join(named): [*sources]}
    return {each: found[each] for each in sorted(found, key=lambda each: not each)}


def _describe_cluster(name: str) -> str:
    return f"cluster {name}" if name else "no single cluster"


def _join_verdicts(parts: dict[str, ClusterPart]) -> str:
    """Return the verdict of each cluster, the worst first."""
    ordered = sorted(parts.items(), key=lambda each: -TONES.index(each[1].tone))
    if len(ordered) == 1:
        return ordered[0][1].verdict
    sentences = [f"{_describe_cluster(name)}: {part.verdict}" for name, part in ordered]
    return " ".join(f"{each[0].upper()}{each[1:]}" for each in sentences)


def _list_sections(name: str, part: ClusterPart) -> Iterator[Section]:
    for each in (*part.sections, part.next):
        yield replace(each, title=f"{each.title}: {_describe_cluster(name)}")


def _build_warnings(
    by_cluster: dict[str, list[Source]], skipped: Sequence[Skipped], *, has_outcomes: bool
) -> Iterator[Section]:
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
    if len(by_cluster) > 1:
        count = sum(map(bool, by_cluster))
        text = f"The documents are about {count} different clusters. Each has its own verdict and sections."
        notes.append(ReportParagraph(text, "bad"))
        notes += [
            ReportParagraph(f"{_describe_cluster(name)}: {join_first([each.path for each in found], _MOST_FILES)}.")
            for name, found in by_cluster.items()
        ]
    if not can_draw() and has_outcomes:
        notes.append(ReportParagraph("Pictures are missing: vl-convert-python is not installed.", "warning"))
    if notes:
        yield Section("Limits of this report", tuple(notes))


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
