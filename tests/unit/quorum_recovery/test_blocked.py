# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A metadata transaction begins where the newest snapshot ends: with both, a controller ends itself when it leads."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.apply import apply, pending_changes
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.plan import decide
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.restore import restore
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.words import describe
from unit.quorum_recovery.disks import (
    BEGIN_TRANSACTION,
    END_TRANSACTION,
    VOTERS,
    Disk,
    a_plan,
    topic_record,
)


def blocked(directory: Path, *more: bytes) -> tuple[Disk, Path]:
    """Return a disk, and its snapshot that is to be removed."""
    disk = Disk(directory).add(topic_record("a"))
    snapshot = disk.add_snapshot(disk.end_offset, topic_record("a"))
    return disk.add(BEGIN_TRANSACTION, topic_record("b"), *more), snapshot


@pytest.mark.parametrize("more", [(), (END_TRANSACTION,)], ids=["without an end", "with an end"])
def test_the_snapshot_is_removed_if_the_log_has_all_that_it_covers(tmp_path: Path, more: tuple[bytes, ...]) -> None:
    disk, snapshot = blocked(tmp_path, *more)
    before, plan = snapshot.read_bytes(), a_plan(disk)
    assert plan.snapshots_to_remove == (str(snapshot),)
    assert (plan.snapshot, plan.contents.topics) == (None, 1 + len(more))
    copies = [disk.read()]
    assert f"Change: {snapshot} is removed. The backup has it." in describe(copies, decide(copies, VOTERS[1:]))
    assert str(snapshot) in {each.path for each in pending_changes(plan, disk.host)}
    backup = apply(plan, disk.host, str(tmp_path / "backup"))
    assert not snapshot.exists()
    assert Path(backup, disk.metadata_dir.name, snapshot.name).read_bytes() == before
    restore(plan, disk.host)
    assert snapshot.read_bytes() == before


def test_an_older_snapshot_is_the_base_then(tmp_path: Path) -> None:
    disk = Disk(tmp_path).begin_at(50)
    older = disk.add_snapshot(50, topic_record("a"))
    disk.add(topic_record("b"))
    newer = disk.add_snapshot(disk.end_offset, topic_record("a"), topic_record("b"))
    disk.add(BEGIN_TRANSACTION)
    plan = a_plan(disk)
    assert plan.snapshots_to_remove == (str(newer),)
    assert plan.snapshot is not None
    assert plan.snapshot.end_offset == 50
    apply(plan, disk.host, None)
    assert (older.exists(), newer.exists()) == (True, False)


def test_several_snapshots_may_block(tmp_path: Path) -> None:
    disk, first = blocked(tmp_path, END_TRANSACTION)
    second = disk.add_snapshot(disk.end_offset, topic_record("a"), topic_record("b"))
    disk.add(BEGIN_TRANSACTION)
    assert {*a_plan(disk).snapshots_to_remove} == {str(first), str(second)}


def test_a_transaction_elsewhere_blocks_nothing(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    disk.add_snapshot(disk.end_offset, topic_record("a"))
    disk.add(topic_record("b")).add(BEGIN_TRANSACTION)
    assert a_plan(disk).snapshots_to_remove == ()


def test_if_nothing_else_has_what_the_snapshot_covers_the_reason_is_named(tmp_path: Path) -> None:
    disk = Disk(tmp_path).begin_at(50)
    disk.add_snapshot(50, topic_record("a"))
    disk.add(BEGIN_TRANSACTION)
    found = disk.read()
    assert (found.is_blocked, found.log_start_offset) == (True, 50)
    (refusal,) = decide([found], VOTERS[1:]).refusals
    assert refusal.startswith("controller 101 on node101 would end itself when it leads: a metadata transaction begins")
