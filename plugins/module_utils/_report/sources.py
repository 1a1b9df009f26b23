# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the input of a report: the documents of one incident, validated, and the approvals of plans."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from .._cleaner.report import LOG_CLEANER_REPORT
from .._documents.dataclass_json import Schema
from .._documents.errors import DocumentError, Problem, raise_if_problems
from .._documents.files import MIB, read_file
from .._documents.validation import schema_problems
from .._exposure.report import EXPOSURE_REPORT
from .._groups.plan import GROUP_PLAN, GROUP_REPORT
from .._leadership.report import LEADERSHIP_REPORT
from .._model.run import garbage_collection_paused
from .._quorum.assessment import QUORUM_REPORT
from .._readiness.check import READINESS_REPORT
from .._recovery.outcome import REPORT_FILE
from .._recovery.plan_file import check_plan
from .._redundancy.plan import REDUNDANCY_PLAN, REDUNDANCY_REPORT
from .._salvage.manifest import MANIFEST, SALVAGE_MANIFEST
from .._salvage.report import DISK_REPORT, REPLAY_REPORT
from .._stop_gate.gate import STOP_GATE_REPORT
from .survey import SURVEY, keep_known_fields

MAX_BYTES = 1024 * MIB
"""The report of 100,000 partitions has 220 MB."""
MAX_RAW_BYTES = MIB
"""Limit for the JSON of all documents in the appendix. For larger documents, the page has the digest only."""
_APPROVAL_TIME = "%Y-%m-%dT%H:%M:%SZ"


class DocumentKind(StrEnum):
    """Kind of a document."""

    RECOVERY = "recovery report"
    PLAN = "plan"
    LEADERSHIP = "leadership report"
    CLEANER = "log cleaner report"
    QUORUM = "quorum report"
    READINESS = "readiness report"
    STOP_GATE = "stop gate report"
    REDUNDANCY_PLAN = "redundancy plan"
    REDUNDANCY = "redundancy report"
    GROUPS_PLAN = "group plan"
    GROUPS = "group report"
    SURVEY = "result of offline_partition_info"
    MANIFEST = "manifest of a salvage"
    DISK_SALVAGE = "salvage report"
    REPLAY = "replay report"
    EXPOSURE = "exposure report"
    EVIDENCE = "evidence"


SIGNS: tuple[tuple[DocumentKind, frozenset[str], Schema | None], ...] = (
    (DocumentKind.REDUNDANCY_PLAN, frozenset({"digest", "moves"}), REDUNDANCY_PLAN),
    (DocumentKind.PLAN, frozenset({"digest", "leftAlone"}), None),
    (DocumentKind.RECOVERY, frozenset({"mode", "summary", "aftermath"}), REPORT_FILE),
    (DocumentKind.LEADERSHIP, frozenset({"orders", "rememberedIn"}), LEADERSHIP_REPORT),
    (DocumentKind.CLEANER, frozenset({"restarts", "repairs"}), LOG_CLEANER_REPORT),
    (DocumentKind.QUORUM, frozenset({"verdicts", "voters"}), QUORUM_REPORT),
    (DocumentKind.READINESS, frozenset({"isReady", "brokerLosses"}), READINESS_REPORT),
    (DocumentKind.REDUNDANCY, frozenset({"lostBrokers", "throttleBytesPerSecond"}), REDUNDANCY_REPORT),
    (DocumentKind.STOP_GATE, frozenset({"stops", "inNoWave"}), STOP_GATE_REPORT),
    (DocumentKind.GROUPS_PLAN, frozenset({"digest", "commits"}), GROUP_PLAN),
    (DocumentKind.GROUPS, frozenset({"undoFile", "commits"}), GROUP_REPORT),
    (DocumentKind.SURVEY, frozenset({"start_order", "left_alone"}), SURVEY),
    (DocumentKind.MANIFEST, frozenset({"salvageId", "origins", "files"}), SALVAGE_MANIFEST),
    (DocumentKind.DISK_SALVAGE, frozenset({"salvageId", "logDirs"}), DISK_REPORT),
    (DocumentKind.REPLAY, frozenset({"salvageId", "target"}), REPLAY_REPORT),
    (DocumentKind.EXPOSURE, frozenset({"clusters", "methods"}), EXPOSURE_REPORT),
)
"""Keys that only a document of this kind has, and its schema. For a plan, its own check includes the digest."""

SALVAGE_KINDS = (DocumentKind.MANIFEST, DocumentKind.DISK_SALVAGE, DocumentKind.REPLAY)


@dataclass(frozen=True, slots=True)
class Source:
    """One valid document."""

    path: str
    kind: DocumentKind
    size_bytes: int
    sha256: str
    content: Any
    """The JSON value; for a plan the ``Plan``, for evidence the ``Evidence``."""
    raw: bytes = b""
    """The file's bytes for the appendix; empty for evidence, and for a file of more than ``MAX_RAW_BYTES``."""
    plan_digest: str = ""
    """The digest in a plan; empty for another document."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """One file of the directory that is not on the page."""

    path: str
    reason: str
    is_damaged: bool
    """True if the file may be a document of the incident. False if it is JSON of something else."""


@dataclass(frozen=True, slots=True)
class Documents:
    """What was read for a page."""

    sources: tuple[Source, ...]
    skipped: tuple[Skipped, ...] = ()


class _ForeignError(DocumentError):
    """The file is JSON, and no document of this collection."""


def read_documents(files: Sequence[str], directory: str | None) -> Documents:
    """Read the given files, and all documents in the directory. Of the directory, what cannot be read is skipped.

    Raises DocumentError if a given file is invalid, if the directory cannot be read, and if there is no document.
    """
    listed = _list_directory(directory) if directory is not None else []
    if not files and not listed:
        problem = Problem("", "it has no document", "Give files, or a directory with the incident's JSON files")
        raise DocumentError(directory or "files", [problem])
    sources = [*read_sources(files)]
    given = {os.path.realpath(each) for each in files}
    skipped, problems = [], []
    with garbage_collection_paused():
        for path in listed:
            if os.path.realpath(path) in given:
                continue
            if (shown := os.fsencode(path).decode("utf-8", "replace")) != path:
                # Ansible refuses a result with such a name.
                skipped.append(Skipped(shown, "its name is not UTF-8: rename it", is_damaged=True))
                problems.append(Problem(shown, "its name is not UTF-8", "Rename it"))
                continue
            try:
                sources.append(_read(path))
            except DocumentError as error:
                skipped.append(Skipped(path, str(error), not isinstance(error, _ForeignError)))
                problems += _problems_of(path, error)
    if not sources:
        raise DocumentError("files", problems)
    return Documents(tuple(sources), tuple(skipped))


def read_sources(paths: Sequence[str]) -> tuple[Source, ...]:
    """Read all documents. Raises DocumentError with the problems of all invalid files."""
    sources: list[Source] = []
    problems: list[Problem] = []
    with garbage_collection_paused():
        for path in paths:
            try:
                sources.append(_read(path))
            except DocumentError as error:
                problems += _problems_of(path, error)
    if problems:
        raise DocumentError("files", problems)
    return tuple(sources)


def _problems_of(path: str, error: DocumentError) -> list[Problem]:
    return [Problem(f"{path}{each.place}", each.message, each.remedy) for each in error.problems]


_EVIDENCE = tuple(f"{below}/partitions.parquet" for below in ("*", "cluster_id=*/*", "*/cluster_id=*/*"))
"""Evidence of one gather, or of the gathers that a run or several runs stored below one directory."""


def _list_directory(directory: str) -> list[str]:
    """Return the directory's JSON files, directories of evidence and manifests of salvages."""
    try:
        entries = sorted(Path(directory).iterdir())
    except OSError as error:
        problem = Problem("", f"it cannot be read: {error.strerror}", "Check the path, and on which host the task runs")
        raise DocumentError(directory, [problem]) from error
    found = [str(each) for each in entries if each.suffix == ".json"]
    found += [str(each.parent) for pattern in _EVIDENCE for each in sorted(Path(directory).glob(pattern))]
    return found + [str(path) for each in entries if (path := each / MANIFEST).is_file()]


def _read(path: str) -> Source:
    if Path(path).is_dir():
        return _read_evidence(path)
    data = read_file(path, MAX_BYTES)
    value = _parse(data, path)
    kind, schema = _kind_of(value, path)
    plan_digest = ""
    if schema is None:
        content: Any = check_plan(value, path)
        plan_digest = value["digest"]
    else:
        content = keep_known_fields(value, schema) if kind is DocumentKind.SURVEY else value
        raise_if_problems(path, schema_problems(content, schema))
    raw = data if len(data) <= MAX_RAW_BYTES else b""
    return Source(path, kind, len(data), hashlib.sha256(data).hexdigest(), content, raw, plan_digest)


def _parse(data: bytes, path: str) -> Any:
    """Parse JSON. The schema check that follows refuses values that only Python's parser accepts."""
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DocumentError(
            path, [Problem("", f"it is no JSON: {error}", "Give a file that this collection wrote")]
        ) from error


def _kind_of(value: Any, path: str) -> tuple[DocumentKind, Schema | None]:
    """Return the kind of a document and its schema, None for a plan. Raises DocumentError if it is of no kind."""
    keys = value.keys() if isinstance(value, dict) else set()
    for kind, signs, schema in SIGNS:
        if signs <= keys:
            return kind, schema
    known = ", ".join(kind.value for kind in DocumentKind)
    message = f"it is none of: {known}"
    raise _ForeignError(path, [Problem("", message, "Leave it out, or give a file that this collection wrote")])


def _read_evidence(path: str) -> Source:
    from .._recovery.evidence import EvidenceError, read_evidence  # noqa: PLC0415 - needs pyarrow, which may be missing

    try:
        evidence = read_evidence(path)
    except EvidenceError as error:
        raise DocumentError(path, [Problem("", str(error), "Give a directory that this collection wrote")]) from error
    files: Iterable[Path] = sorted(Path(path).glob("*.parquet"))
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in files)).hexdigest()
    return Source(path, DocumentKind.EVIDENCE, sum(each.stat().st_size for each in files), digest, evidence)


@dataclass(frozen=True, slots=True)
class Approval:
    """One approval of a plan. No document has it: a person, or AWX's workflow, reports it."""

    at: str
    """UTC, in the format of documents."""
    by: str
    what: str
    """Names the plan if its digest is known."""
    plan: str = ""
    """The path of that plan; empty if its digest is not known."""


def check_approvals(given: Iterable[Mapping[str, Any]], sources: Sequence[Source]) -> tuple[Approval, ...]:
    """Check the given approvals, and find their plans among the documents.

    Raises DocumentError, which names each approval with an invalid time or with a plan that is not in the documents.
    """
    plans = {each.plan_digest: each.path for each in sources if each.plan_digest}
    found, problems = [], []
    for number, each in enumerate(given):
        place, digest = f"[{number}]", each["plan_digest"]
        if not _is_time(each["at"]):
            message = f"at is {each['at']!r}, which is no UTC time like 2026-01-31T23:59:59Z"
            problems.append(Problem(place, message, "Write the time like that"))
        if digest is not None and digest not in plans:
            message = f"plan_digest {digest} is of none of the documents"
            problems.append(Problem(place, message, "Add the plan that was approved, or leave plan_digest out"))
        what = "plan approved" if digest is None else f"plan {plans.get(digest, '')} ({digest}) approved"
        found.append(Approval(each["at"], each["by"], what, plans.get(digest, "")))
    if problems:
        raise DocumentError("approvals", problems)
    return tuple(found)


def _is_time(text: str) -> bool:
    try:
        datetime.strptime(text, _APPROVAL_TIME)  # only the form is checked
    except ValueError:
        return False
    return True
