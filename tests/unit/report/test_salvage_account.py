# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What of an incident's records is still lost, by forecast, salvages and replays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._report.blocks import Table
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.html import to_html
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.page import page_of
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.sources import Kind, read_sources

CLUSTER = "4L6g3nShT-eMCtK--X86sw"
AT = "2026-01-31T23:59:59Z"


def a_range(start: int, end: int) -> dict[str, int]:
    return {"epoch": 3, "start_offset": start, "end_offset": end}


def a_manifest(salvage_id: str, start: int, end: int, aborted: int = 0) -> dict[str, Any]:
    saved: dict[str, Any] = {"topic": "orders", "partition": 0, "ranges": [a_range(start, end)], "records": end - start}
    saved["undecodable_batches"] = 0
    place: dict[str, Any] = {
        "salvage_id": salvage_id,
        "cluster_id": CLUSTER,
        "taken_at": AT,
        "files": [],
        "taken_on": "kafka1",
    }
    place["held"] = []
    return {**place, "origins": [{"broker_id": 1, "log_dirs": ["/d"]}], "partitions": [{**saved, "aborted": aborted}]}


def a_disk(start: int, end: int) -> dict[str, Any]:
    lost = {"topic": "orders", "partition": 0, "status": "saved", "reason": "", "lost": [a_range(start, end)]}
    place = {"cluster_id": CLUSTER, "salvage_id": "a", "broker_id": 1, "log_dirs": ["/d"], "finished_at": AT}
    unread: dict[str, Any] = {"unreadable": [], "before_log_start": [], "damages": [], "saved": None}
    more = {"salvage_dir": "/s", "started_at": AT, "newer_commits": []}
    return {**place, **more, "partitions": [{**lost, **unread, "held": []}]}


def a_replay(given: int, given_before: int = 0, superseded: int = 0) -> dict[str, Any]:
    counts: dict[str, Any] = {
        "saved": 250,
        "to_give": given,
        "given": given,
        "given_before": given_before,
        "left_out": {},
    }
    counts["superseded"] = superseded
    part = {"topic": "orders", "partition": 0, "target_topic": "orders", "status": "given_back", "reason": "", **counts}
    place = {"cluster_id": CLUSTER, "salvage_id": "a", "finished_at": AT, "target": "original"}
    return {**place, "salvage_dir": "/s", "started_at": AT, "partitions": [part]}


def account(tmp_path: Path, *documents: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    paths = []
    for number, each in enumerate(documents):
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_text(json.dumps(each), encoding="utf-8")
    sources = read_sources([str(each) for each in paths])
    page = page_of(sources, "incident")
    assert b"Records that were lost" in to_html(page)
    (section,) = (each for each in page.sections if each.title == "Records that were lost")
    (table,) = (each for each in section.blocks if isinstance(each, Table))
    ((_name, *cells),) = table.rows
    return tuple(each.text for each in cells), section.blocks[0].text  # type: ignore[union-attr]


def test_all_that_was_held_came_back(tmp_path: Path) -> None:
    documents = (a_disk(100, 350), a_manifest("a", 100, 350, aborted=20), a_replay(0, given_before=230))
    assert account(tmp_path, *documents) == (
        ("250", "250", "230", "0"),
        "Nothing that was found anywhere is still lost.",
    )


def test_what_two_salvages_have_counts_once(tmp_path: Path) -> None:
    cells, verdict = account(tmp_path, a_manifest("a", 100, 150), a_manifest("b", 100, 350), a_replay(250))
    assert (cells, verdict[:7]) == (("250", "250", "250", "0"), "Nothing")


def test_what_was_not_saved_or_not_given_back_is_still_lost(tmp_path: Path) -> None:
    assert account(tmp_path, a_disk(100, 350), a_manifest("a", 100, 300), a_replay(150))[0] == (
        "250",
        "200",
        "150",
        "100",
    )
    assert account(tmp_path, a_disk(100, 350)) == (("250", "0", "0", "250"), "Still lost: 250.")


def test_what_a_compacted_topic_does_not_need_is_not_lost(tmp_path: Path) -> None:
    """Also when it was left out by an earlier run, which this run's reasons do not count again."""
    documents = (a_disk(100, 350), a_manifest("a", 100, 350))
    assert account(tmp_path, *documents, a_replay(200, superseded=50))[0][3] == "0"
    assert account(tmp_path, *documents, a_replay(0, given_before=200, superseded=40))[0][3] == "10"


def test_what_was_held_and_not_saved_is_in_the_manifest(tmp_path: Path) -> None:
    manifest = a_manifest("a", 100, 150)
    manifest["held"] = [{"topic": "orders", "partition": 0, "ranges": [a_range(100, 170)]}]
    assert account(tmp_path, manifest, a_replay(50))[0] == ("70", "50", "50", "20")


def test_the_kinds_are_distinguished(tmp_path: Path) -> None:
    for number, (document, kind) in enumerate(
        [(a_manifest("a", 0, 1), Kind.MANIFEST), (a_disk(0, 1), Kind.DISK_SALVAGE), (a_replay(1), Kind.REPLAY)]
    ):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        (source,) = read_sources([str(path)])
        assert source.kind is kind
