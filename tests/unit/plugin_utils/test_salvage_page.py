# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a person reads of a salvage."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import ReportFile
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.account import (
    build_account_result,
    build_accounts,
)
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.rendering import rendered
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.salvage_page import disk_blocks
from unit.report import salvages

LOST = {"epoch": 0, "start_offset": 100, "end_offset": 350}
DAMAGE = {"kind": "corrupt", "position": 70, "size": 30, "from_offset": 120, "to_offset": 130}


def partition(number: int, status: str, **more: Any) -> dict[str, Any]:
    nothing: dict[str, Any] = {"lost": [], "unreadable": [], "before_log_start": [], "damages": [], "saved": None}
    return {"topic": "orders", "partition": number, "status": status, "reason": "", **nothing, **more}


def printed(*partitions: dict[str, Any], salvage_id: str | None = "s", left_alone: int = 0, lost: int = 250) -> str:
    summary: dict[str, Any] = {"lost_offsets": lost, "saved_records": 240, "saved_bytes": 4096}
    summary["unreadable_offsets"] = min(10, lost)
    summary["left_alone"] = {"no_topic": left_alone, "other_topic": 0, "other_cluster": 0, "no_partition": 0}
    summary["statuses"] = Counter(each["status"] for each in partitions)
    account = build_account_result(build_accounts({}), 1000)
    result = {"account": account, "broker_id": 1, "salvage_id": salvage_id, "salvage_dir": "/saved", "summary": summary}
    text = rendered(disk_blocks({**result, "partitions": list(partitions)}), 200, color=False)
    return " ".join(text.split())


def test_what_was_left_alone_is_counted_by_cause() -> None:
    text = printed(partition(0, "left_alone"), left_alone=400)
    assert "Left alone: 400 offsets of topics that the cluster does not have; log_salvage_include_absent" in text
    assert "Left alone" not in printed(partition(0, "nothing_lacking"))


def test_what_was_saved_and_what_could_not_be_read() -> None:
    saved = {"records": 240, "bytes": 4096, "committed": 60, "aborted": 20, "unknown": 5}
    text = printed(
        partition(0, "saved", lost=[LOST], saved=saved, damages=[{"path": "/d/0.log", "damage": DAMAGE}]),
        partition(1, "nothing_lacking"),
        partition(2, "failed", reason="it has no leader"),
    )
    assert (
        "The cluster lacks at least 250 offsets that the disks of broker 1 have, 10 of them in no readable batch"
        in text
    )
    assert "240 records (4 KiB) saved in /saved" in text
    assert "saved: 240 records, 4 KiB the cluster lacks offsets 100 to 349 (epoch 0)" in text
    assert "60 committed, 20 aborted, 5 with an unknown outcome" in text
    assert "corrupt in /d/0.log: 30 bytes at 70, between offset 120 and offset 130" in text
    assert "failed: it has no leader" in text
    assert "orders-1" not in text


def test_a_partition_that_could_not_be_compared_may_lack_offsets() -> None:
    text = printed(partition(0, "failed", reason="it has no leader"), salvage_id=None, lost=0)
    assert "The cluster may lack offsets of 1 partition that the disks of broker 1 have; nothing was saved." in text


def test_nothing_saved() -> None:
    text = printed(partition(0, "would_be_saved", lost=[LOST]), salvage_id=None)
    assert "nothing was saved" in text
    assert "orders-0 would be saved the cluster lacks" in text


def test_one_offset_is_no_range() -> None:
    text = printed(partition(0, "saved", lost=[{"epoch": 0, "start_offset": 15, "end_offset": 16}]))
    assert "the cluster lacks offset 15 (epoch 0)" in text


def test_what_the_module_returns_is_printed() -> None:
    result = salvages.disk_result(salvages.a_disk_salvage(), ReportFile(None), max_rows=10)
    text = " ".join(rendered(disk_blocks(result), 200, color=False).split())
    assert "Still lost: at least 250; unknown for 1 of 3 partitions. Of these, 240 are saved and can be given" in text
    assert "orders-2 - 0 0 - orders-0 250 250 0 230 orders-1 20 10 0 20 all at least 270 260 0 at least 250" in text
    assert "torn tail in /var/lib/kafka/orders-3/0.log: 37 bytes at 4096, between offset 512 and the end" in text


def test_groups_that_went_back_are_named_with_what_gives_their_offsets_back() -> None:
    commit = {"group": "billing", "topic": "orders", "partition": 3, "saved_offset": 9, "committed_offset": 5}
    result = salvages.disk_result(salvages.a_disk_salvage(), ReportFile(None), max_rows=10)
    others = [{**commit, "group": f"group-{number}", "partition": 0} for number in range(50)]
    alike = [{**commit, "partition": 4, "saved_offset": 12, "committed_offset": None}]
    result |= {"salvage_dir": "/saved", "newer_commits": [commit, *alike, *others], "newer_commits_total": 60}
    text = " ".join(rendered(disk_blocks(result), 200, color=False).split())
    assert "billing orders 3-4: offset 9 to 12 on the disk, none or 5 in the cluster" in text
    assert "group-48 orders-0: offset 9 on the disk, 5 in the cluster and 9 more committed offsets; the report" in text
    assert "from playbook kafkaops.recovery.restore_groups, with group_recovery_salvage_dir=/saved." in text
