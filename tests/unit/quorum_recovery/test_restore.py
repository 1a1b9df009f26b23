# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A recovery that was begun is undone: the disk is as it was before, unless the controller has written since."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.apply import (
    ApplyError,
    apply,
    pending_changes,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.journal import (
    RecoveryStep,
    read_pending,
    write_pending,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.restore import (
    pending_restoration,
    restore,
)
from unit.quorum_recovery.disks import Disk, a_plan, topic_record


def files(disk: Disk) -> dict[str, bytes]:
    """Return everything but the lock file, which is empty, and which each node creates."""
    return {path: content for path, content in disk.files().items() if not path.endswith(".lock")}


@pytest.mark.parametrize("dynamic", [True, False])
def test_the_disk_is_as_before(tmp_path: Path, *, dynamic: bool) -> None:
    disk = Disk(tmp_path, dynamic=dynamic).add(topic_record("a"))
    disk.segment.write_bytes(disk.segment.read_bytes() + b"torn")
    before = files(disk)
    plan = a_plan(disk)
    backup = apply(plan, disk.host, str(tmp_path / "backup"))
    assert files(disk) != before
    (disk.metadata_dir / "left-by-a-start").write_bytes(b"")
    assert pending_restoration(plan, disk.host)
    assert restore(plan, disk.host) == backup
    assert files(disk) == before
    assert pending_restoration(plan, disk.host) == []
    assert a_plan(disk) == plan


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
def test_every_file_stays_kafka_s_own(tmp_path: Path) -> None:
    """A playbook that runs as root must not leave files that Kafka's user cannot write."""
    disk = Disk(tmp_path).add(topic_record("a"))
    for each in (disk.log_dir, *disk.log_dir.rglob("*")):
        os.chown(each, 4711, 4712)
    plan = a_plan(disk)
    backup = Path(apply(plan, disk.host, str(tmp_path / "backup")))
    assert owners(disk.log_dir) == owners(backup) == {(4711, 4712)}
    restore(plan, disk.host)
    assert owners(disk.log_dir) == {(4711, 4712)}


def owners(directory: Path) -> set[tuple[int, int]]:
    return {(each.stat().st_uid, each.stat().st_gid) for each in directory.rglob("*") if each.is_file()}


def test_a_look_restores_nothing(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    plan = a_plan(disk)
    apply(plan, disk.host, None)
    before = disk.files()
    assert len(pending_restoration(plan, disk.host)) == 3
    assert disk.files() == before


def test_a_broker_gets_its_old_voters(tmp_path: Path) -> None:
    disk = Disk(tmp_path, dynamic=False).add(topic_record("a"))
    broker = Disk(tmp_path, 1, dynamic=False, role="broker")
    plan, before = a_plan(disk, broker), broker.properties.read_text("utf-8")
    apply(plan, broker.host, str(tmp_path / "backup"))
    restore(plan, broker.host)
    assert broker.properties.read_text("utf-8") == before


def test_what_the_controller_wrote_since_is_not_thrown_away(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    plan = a_plan(disk)
    apply(plan, disk.host, None)
    disk.end_offset += 1  # the record with the voters
    disk.add(topic_record("b"), epoch=4)
    before = disk.segment.read_bytes()
    with pytest.raises(ApplyError, match="was started after the change, and has written up to offset 5"):
        restore(plan, disk.host)
    assert disk.segment.read_bytes() == before


def test_a_backup_that_is_damaged_is_not_restored(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    plan = a_plan(disk)
    backup = apply(plan, disk.host, str(tmp_path / "backup"))
    before = files(disk)
    with Path(backup, disk.metadata_dir.name, disk.segment.name).open("r+b") as file:
        file.truncate(plan.segment_bytes - 1)
    with pytest.raises(ApplyError, match="is not whole"):
        restore(plan, disk.host)
    assert files(disk) == before


def test_a_killed_restoration_is_not_taken_for_a_recovery(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    before, plan = files(disk), a_plan(disk)
    apply(plan, disk.host, str(tmp_path / "backup"))
    pending = read_pending(str(disk.log_dir))
    assert pending is not None
    write_pending(str(disk.log_dir), pending.at(RecoveryStep.RESTORING))
    with pytest.raises(ApplyError, match="quorum_recovery_restore_backup was killed"):
        pending_changes(plan, disk.host)
    restore(plan, disk.host)
    assert files(disk) == before
