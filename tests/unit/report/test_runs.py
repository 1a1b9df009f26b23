# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pages of one run (readiness, a salvage of disks, a replay) have the numbers of the documents."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import ReportFile
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.check import (
    READINESS_REPORT,
    encode_readiness_report,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.blocks import ReportTable
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.page import Page, build_page
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.sources import (
    DocumentKind,
    read_documents,
    read_sources,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.template import render_html
from unit.recovery import outages
from unit.report import salvages
from unit.report.salvages import HOSTILE
from unit.report.test_page import Reader, a_report

FORBIDDEN = {"script", "img", "iframe", "link", "object", "a", "base", "form"}


def page_and_tables(*paths: Path) -> tuple[Page, Reader]:
    page = build_page(read_sources([str(each) for each in paths]), "A run")
    return page, Reader(render_html(page).decode())


def readiness_file(directory: Path, **fields: str) -> Path:
    path = directory / "readiness.json"
    document = partial(encode_readiness_report, salvages.a_readiness(**fields))
    ReportFile(str(path)).write(document, READINESS_REPORT)
    return path


def disk_file(directory: Path, **fields: str) -> Path:
    path = directory / "disk.json"
    salvages.disk_result(salvages.a_disk_salvage(**fields), ReportFile(str(path)))
    return path


def replay_file(directory: Path, **fields: str) -> Path:
    path = directory / "replay.json"
    salvages.replay_result(salvages.a_replay(**fields), ReportFile(str(path)))
    return path


def test_readiness(tmp_path: Path) -> None:
    path = readiness_file(tmp_path)
    page, reader = page_and_tables(path)
    report = json.loads(path.read_text())
    sentence = "A recovery would not work as it should: 1 failed, 1 could not be found out, 1 warning of 4 checks."
    assert (page.verdict, page.tone) == (sentence, "bad")
    rows = reader.tables["Checks, worst first"]
    assert [row[0] for row in rows] == ["failed", "could not be found out", "warning", "fine"]
    assert [row[3] for row in rows] == [each["found"] for each in report["checks"]]
    assert rows[0][4] == "Grant it"
    assert reader.tables["If one broker died now"] == [
        ["1", "12", "3", "1,204", "orders 0-11"],
        ["2", "0", "0", "unknown", "none"],
    ], "what could not be found out is no zero"


def test_a_salvage_of_disks(tmp_path: Path) -> None:
    path = disk_file(tmp_path)
    page, reader = page_and_tables(path, salvages.manifest_in(tmp_path))
    summary = json.loads(path.read_text())["summary"]
    lacking, records, failed = summary["lostOffsets"], summary["savedRecords"], summary["statuses"]["failed"]
    sentence = f"The cluster lacks at least {lacking} offsets that the disks of broker 1 have; {records} records saved."
    assert (page.verdict, page.tone) == (f"{sentence} {failed} partition failed.", "bad")
    assert reader.tables["4 of 5 replicas; the cluster lacks nothing of the others"] == [
        ["orders-0", "saved", "100 to 349 (epoch 3)", "250", "250", "20", "0", "none", "none"],
        ["orders-1", "saved", "70 to 89 (epoch 3)", "20", "10", "0", "5", "80 to 89 (epoch 3)", "none"],
        ["orders-2", "failed", "unknown", "unknown", "none", "none", "none", "none", "it has no leader"],
        ["orders-3", "nothing lacking", "nothing", "0", "none", "none", "none", "none", "none"],
    ]
    assert reader.tables["Damaged or unreadable"] == [
        ["orders-3", "/var/lib/kafka/orders-3/0.log", "torn tail", "4,096", "37", "512 and the end"]
    ]
    assert reader.tables["Groups whose saved committed offset is higher than the cluster's"][1] == [
        "billing", "orders-1", "75", "unknown"
    ]  # fmt: skip
    (before,) = (rows for caption, rows in reader.tables.items() if caption.startswith("Before the leader's log start"))
    assert before == [["orders-1", "0 to 6 (epoch 2)"]]


def test_records_given_back(tmp_path: Path) -> None:
    path = replay_file(tmp_path)
    page, reader = page_and_tables(path, salvages.manifest_in(tmp_path))
    summary = json.loads(path.read_text())["summary"]
    given, before = summary["given"], summary["givenBefore"]
    refused = salvages.a_replay().partitions[1]
    sentence = f"Of {summary['saved']} saved records, {given} were given back, {before} before."
    assert (page.verdict, page.tone) == (f"{sentence} 1 partition not done.", "bad")
    assert reader.tables["Results of 2 partitions"] == [
        ["orders-0", "given back", "orders.salvaged", "250", "130", "130", "100", "20 of aborted transactions", "none"],
        ["orders-1", "refused", "orders.salvaged", "10", "0", "0", "0", "none", refused.reason],
    ]  # fmt: skip


@pytest.mark.parametrize("with_manifest", [True, False])
def test_the_account_of_a_salvage_and_its_replay(tmp_path: Path, with_manifest: bool) -> None:
    """The report of the disks has the saved records too, as the manifest has."""
    manifest = [salvages.manifest_in(tmp_path)] if with_manifest else []
    page, _reader = page_and_tables(disk_file(tmp_path), replay_file(tmp_path), *manifest)
    assert rows_of_account(page) == [
        ["orders-0", "250", "250", "230", "0"],
        ["orders-1", "20", "10", "0", "20"],
        ["orders-2", "unknown", "0", "0", "unknown"],
    ]
    sentence = "Still lost: at least 20; unknown for 1 of 3 partitions. Of these, 10 are saved and can be given back."
    assert sentence in render_html(page).decode()


def test_without_the_manifest_of_a_replay_the_rest_is_unknown(tmp_path: Path) -> None:
    page, _reader = page_and_tables(replay_file(tmp_path))
    assert rows_of_account(page) == [
        ["orders-0", "250", "250", "230", "unknown"],
        ["orders-1", "10", "10", "0", "unknown"],
    ]


def test_the_manifest_in_a_salvage_directory_is_found(tmp_path: Path) -> None:
    saved = tmp_path / "recovery-salvage"
    saved.mkdir()
    salvages.manifest_in(saved)
    read = read_documents([], str(replay_file(tmp_path).parent))
    page, _reader = page_and_tables(*(Path(each.path) for each in read.sources))
    assert rows_of_account(page) == [["orders-0", "250", "250", "230", "0"], ["orders-1", "10", "10", "0", "10"]]


def test_without_the_manifest_replayed_records_are_not_matched_with_held_ones(tmp_path: Path) -> None:
    report = salvages.written(tmp_path / "report.json", a_report([outages.recovered(outages.losing(0, lost=5))]))
    done = salvages.a_replay()
    all_given = replace(done.partitions[0], saved=5, given=5, given_before=0, left_out={})
    replay = tmp_path / "replay.json"
    salvages.replay_result(replace(done, partitions=(all_given,)), ReportFile(str(replay)))
    page, _reader = page_and_tables(report, replay)
    assert rows_of_account(page) == [["orders-0", "5", "5", "5", "unknown"]]


def rows_of_account(page: Page) -> list[list[str]]:
    (section,) = (each for each in page.sections if each.title == "Records found, saved and given back")
    (table,) = (each for each in section.blocks if isinstance(each, ReportTable))
    return [[cell.text for cell in row] for row in table.rows]


def test_nothing_of_a_run_becomes_markup(tmp_path: Path) -> None:
    page, reader = page_and_tables(
        readiness_file(tmp_path, found=HOSTILE),
        disk_file(tmp_path, reason=HOSTILE),
        replay_file(tmp_path, reason=HOSTILE),
        salvages.manifest_in(tmp_path),
    )
    assert not {tag for tag, _attributes in reader.tags} & FORBIDDEN
    assert not [name for _tag, attributes in reader.tags for name in attributes if name.startswith("on")]
    assert reader.tables["Checks, worst first"][0][3] == HOSTILE
    assert reader.tables["4 of 5 replicas; the cluster lacks nothing of the others"][2][8] == HOSTILE
    assert reader.tables["Groups whose saved committed offset is higher than the cluster's"][0][0] == HOSTILE
    assert [each.title for each in page.sections[-5:]] == [
        "Readiness for a recovery", "Disks of broker 1", "Records given back", "Appendix", "Next"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        (DocumentKind.DISK_SALVAGE, "newerCommits", [{"group": 7}]),
        (DocumentKind.REPLAY, "partitions", [{"leftOut": {"aborted": -1}}]),
    ],
)
def test_a_wrong_value_is_refused(tmp_path: Path, kind: DocumentKind, field: str, value: Any) -> None:
    path = disk_file(tmp_path) if kind is DocumentKind.DISK_SALVAGE else replay_file(tmp_path)
    report = json.loads(path.read_text())
    report[field] = [{**report[field][0], **value[0]}]
    path.write_text(json.dumps(report))
    with pytest.raises(DocumentError, match=f"/{field}/0"):
        read_sources([str(path)])
