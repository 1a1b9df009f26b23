# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which records of an incident are still lost, according to forecast, salvages and replays."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.segment import Damage, DamageKind
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import ReportFile
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange, Stretches
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import Flag
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.forecast import LossAgainst
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.blocks import ReportTable
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.page import Page, build_page
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.salvage_section import build_account_section
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.sources import DocumentKind, read_sources
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.template import render_html
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.account import Balance, build_accounts
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import (
    DiskFinding,
    FileDamage,
    SalvageStatus,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.manifest import HeldRecords, encode_manifest
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.replayed import Replayed, ReplayStatus, Target
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.report import (
    DiskReport,
    ReplayReport,
    encode_disk_report,
    encode_replay_report,
    summarize_disks,
    summarize_replay,
)
from unit.recovery import outages
from unit.report import salvages
from unit.report.salvages import AT, CLUSTER
from unit.report.test_page import a_report

_UNTOLD = LossAgainst(2, True, (), undetermined=(EpochRange(3, 0, 400),))
"""Replica 2 holds records before the leader's log start."""

NONE_LOST = "No record that was found on another replica or disk is still lost."


def a_manifest(salvage_id: str, start: int, end: int, aborted: int = 0, held: Stretches = ()) -> dict[str, Any]:
    losers = (HeldRecords("orders", 0, held),) if held else ()
    parts = (salvages.saved(0, start, end, aborted=aborted),)
    document: dict[str, Any] = json.loads(
        encode_manifest(replace(salvages.MANIFEST, salvage_id=salvage_id, held=losers, partitions=parts))
    )
    return document


def of_another_topic(document: dict[str, Any]) -> dict[str, Any]:
    """Return the same manifest about a topic that had the name before, or has it now."""
    partitions = [each | {"topicId": "B" * 21 + "A"} for each in document["partitions"]]
    return document | {"partitions": partitions}


def a_disk(start: int, end: int, broker_id: int = 1, **fields: Any) -> dict[str, Any]:
    lost = {"status": SalvageStatus.SAVED, "lost": (EpochRange(3, start, end),)}
    found = (DiskFinding("orders", 0, None, None, **lost | fields),)
    return encode_disk_report(
        DiskReport(
            cluster_id=CLUSTER,
            broker_id=broker_id,
            log_dirs=("/d",),
            salvage_dir="/s",
            salvage_id="a",
            summary=summarize_disks(found),
            account=build_accounts({}),
            partitions=found,
            newer_commits=(),
        ),
        AT,
        AT,
    )


def a_replay(given: int, given_before: int = 0, superseded: int = 0) -> dict[str, Any]:
    counts = (250, given, given, 40 * given, given_before, superseded)
    rows = (Replayed("orders", 0, None, "orders", ReplayStatus.GIVEN_BACK, "", *counts, {}),)
    return encode_replay_report(
        ReplayReport(
            cluster_id=CLUSTER,
            salvage_id="a",
            salvage_dir="/s",
            target=Target.ORIGINAL,
            summary=summarize_replay(rows),
            account=build_accounts({}),
            partitions=rows,
        ),
        AT,
        AT,
    )


def page_about(tmp_path: Path, *documents: dict[str, Any]) -> Page:
    paths = [salvages.written(tmp_path / f"{number}.json", document) for number, document in enumerate(documents)]
    return build_page(read_sources([str(each) for each in paths]), "incident")


def account(tmp_path: Path, *documents: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    page = page_about(tmp_path, *documents)
    assert b"Records found, saved and given back" in render_html(page)
    (section,) = (each for each in page.sections if each.title == "Records found, saved and given back")
    (table,) = (each for each in section.blocks if isinstance(each, ReportTable))
    ((_name, *cells),) = table.rows
    return tuple(each.text for each in cells), section.blocks[0].text  # type: ignore[union-attr]


def test_all_held_records_were_given_back(tmp_path: Path) -> None:
    documents = (a_disk(100, 350), a_manifest("a", 100, 350, aborted=20), a_replay(0, given_before=230))
    assert account(tmp_path, *documents) == (("250", "250", "230", "0"), NONE_LOST)


def test_records_in_two_salvages_count_once(tmp_path: Path) -> None:
    cells, verdict = account(tmp_path, a_manifest("a", 100, 150), a_manifest("b", 100, 350), a_replay(250))
    assert (cells, verdict) == (("250", "250", "250", "0"), NONE_LOST)


def test_records_of_two_topics_of_one_name_count_each(tmp_path: Path) -> None:
    """Both logs have the same epoch and offsets, and the records of one of them were given back."""
    replay = a_replay(250)
    replay["partitions"][0]["topicId"] = salvages.saved(0, 100, 350).topic_id
    documents = [a_manifest("a", 100, 350), of_another_topic(a_manifest("b", 100, 350)), replay]
    assert account(tmp_path, *documents) == (
        ("500", "500", "250", "250"),
        "Still lost: 250. All of this is saved and can be given back.",
    )


def test_what_was_saved_of_a_former_topic_does_not_hide_a_failure() -> None:
    done = salvages.a_disk_salvage()
    failed = DiskFinding("orders", 0, "B" * 21 + "A", None, SalvageStatus.FAILED, "it has no leader")
    done = replace(done, findings=(failed, *done.findings[:1]))
    total = salvages.disk_result(done, ReportFile(None))["account"]["total"]
    assert (total["partitions"], total["saved"], total["unknown"]) == (1, 250, 1)


def test_records_not_saved_or_not_given_back_are_still_lost(tmp_path: Path) -> None:
    assert account(tmp_path, a_disk(100, 350), a_manifest("a", 100, 300), a_replay(150))[0] == (
        "250",
        "200",
        "150",
        "100",
    )
    assert account(tmp_path, a_disk(100, 350)) == (("250", "0", "0", "250"), "Still lost: 250.")


def test_records_that_a_compacted_topic_does_not_need_are_not_lost(tmp_path: Path) -> None:
    """Also if an earlier run left them out. The reasons of this run do not count them again."""
    documents = (a_disk(100, 350), a_manifest("a", 100, 350))
    assert account(tmp_path, *documents, a_replay(200, superseded=50))[0][3] == "0"
    assert account(tmp_path, *documents, a_replay(0, given_before=200, superseded=40))[0][3] == "10"


def test_the_manifest_has_held_records_that_were_not_saved(tmp_path: Path) -> None:
    manifest = a_manifest("a", 100, 150, held=(EpochRange(3, 100, 170),))
    assert account(tmp_path, manifest, a_replay(50))[0] == ("70", "50", "50", "20")


def test_the_verdict_says_what_is_still_lost(tmp_path: Path) -> None:
    """Dead broker 1 was silent when another replica was elected. A salvage of its disk shows what it held."""
    recovery = a_report([outages.recovered(outages.would_recover(0))])
    online = "1 of 1 partition recovered"
    writable = "writable with acks=all: 1 of 1"
    back = (a_disk(100, 350), a_manifest("a", 100, 350), a_replay(250))
    found = f"{online}; {writable}. {NONE_LOST}"
    assert page_about(tmp_path, recovery).verdict == f"{online}; whether records were lost is unknown; {writable}."
    assert page_about(tmp_path, recovery, *back).verdict == found
    assert page_about(tmp_path, recovery, *back[:2]).verdict == (
        f"{online}; {writable}. Still lost: 250. All of this is saved and can be given back."
    )


@pytest.mark.parametrize(
    "disk",
    [
        {"broker_id": 2},
        {"status": SalvageStatus.FAILED},
        {"status": SalvageStatus.LEFT_ALONE},
        {"before_log_start": (EpochRange(2, 0, 7),)},
        {"damages": (FileDamage("/d/0.log", Damage(DamageKind.TORN_TAIL, 4096, 37, 512, None)),)},
    ],
)
def test_a_disk_that_was_not_compared_completely_stays_unknown(tmp_path: Path, disk: dict[str, Any]) -> None:
    """The disk of another broker, a disk that could not be compared, or one that is partly unknown or unreadable."""
    recovery = a_report([outages.recovered(outages.would_recover(0))])
    documents = (a_disk(100, 350, **disk), a_manifest("a", 100, 350), a_replay(250))
    assert page_about(tmp_path, recovery, *documents).verdict == (
        f"1 of 1 partition recovered; writable with acks=all: 1 of 1. {NONE_LOST} For 1 partition, replicas could "
        "not be compared, so it is unknown what they held."
    )


@pytest.mark.parametrize(
    ("changes", "flags", "said"),
    [
        ({"at_most": 0}, (), ""),
        ({"at_most": 400, "against": (_UNTOLD,)}, (), "it is unknown whether records are lost that are before"),
        ({"at_most": None}, (), "or between two logs"),
        ({"at_most": 0}, (Flag.GAP,), "or between two logs"),
        (None, (), "replicas could not be compared"),
    ],
    ids=["known", "before the log start", "in the tier", "in a gap", "nothing was compared"],
)
def test_another_partitions_salvage_settles_no_unknown_loss(
    tmp_path: Path, changes: dict[str, Any] | None, flags: tuple[Flag, ...], said: str
) -> None:
    elected = outages.recovered(outages.would_recover(0, "payments", behind=0))
    losses = () if changes is None else tuple(replace(each, **{"against": ()} | changes) for each in elected.losses)
    candidates = tuple(replace(each, flags=flags) for each in elected.candidates)
    recovery = a_report([replace(elected, losses=losses, candidates=candidates)])
    page = page_about(tmp_path, recovery, a_manifest("a", 100, 350), a_replay(250))
    assert said in page.verdict
    assert page.tone == ("warning" if said else "good")


def test_kinds_of_documents_are_recognized(tmp_path: Path) -> None:
    for number, (document, kind) in enumerate(
        [
            (a_manifest("a", 0, 1), DocumentKind.MANIFEST),
            (a_disk(0, 1), DocumentKind.DISK_SALVAGE),
            (a_replay(1), DocumentKind.REPLAY),
        ]
    ):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        (source,) = read_sources([str(path)])
        assert source.kind is kind


def test_an_account_of_very_many_partitions_says_that_it_is_cut() -> None:
    balance = Balance(held_by_losers=1, saved=1, given_back=1, still_lost=0, at_hand=0)
    section = build_account_section({TopicPartition("orders", each): balance for each in range(1200)})
    (table,) = (each for each in section.blocks if isinstance(each, ReportTable))
    assert table.caption == "1,200 partitions; the first 1,000 of 1,200, the report file has all"
    assert len(table.rows) == 1000
