# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a plan changes on a disk, and that nothing else is changed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.log_dir import LogDirError
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.apply import (
    ApplyError,
    apply,
    pending_changes,
    planned_batch,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.backup import BackupError
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.journal import (
    RecoveryStep,
    read_pending,
    write_pending,
)
from unit.quorum_recovery.disks import VOTERS, Disk, a_plan, locked_by_another_process, topic_record, voter


def test_dynamic_voters_get_one_batch_and_no_vote(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    before = disk.segment.read_bytes()
    plan = a_plan(disk)
    backup = Path(apply(plan, disk.host, str(tmp_path / "backup")))
    assert disk.segment.read_bytes() == before + planned_batch(plan)
    assert disk.read().voters == (voter(101),)
    state = json.loads(disk.quorum_state.read_text("utf-8"))
    assert (state["votedId"], state["votedDirectoryId"], state["leaderEpoch"]) == (-1, "A" * 22, 4)
    assert [each.epoch for each in disk.read().lineage_ranges] == [1, 4], "no copy has the epoch of the batch"
    assert (backup / "__cluster_metadata-0" / disk.segment.name).read_bytes() == before


def test_a_log_that_is_empty_after_a_snapshot(tmp_path: Path) -> None:
    """Kafka leaves it after it has copied a snapshot."""
    disk = Disk(tmp_path).begin_at(50)
    disk.segment.touch()
    disk.add_snapshot(50, topic_record("a"))
    plan = a_plan(disk)
    apply(plan, disk.host, None)
    assert disk.segment.read_bytes() == planned_batch(plan)
    assert disk.read().voters == (voter(101),)


def test_kafka_s_own_list_of_epochs_gets_the_new_one(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    epochs = disk.metadata_dir / "leader-epoch-checkpoint"
    epochs.write_text(f"0\n3\n1 0\n2 2\n3 {disk.end_offset}\n", encoding="utf-8")
    plan = a_plan(disk)
    assert str(epochs) in {each.path for each in pending_changes(plan, disk.host)}
    end = disk.end_offset
    for _run in range(2):
        apply(plan, disk.host, str(tmp_path / "backup"))
        assert epochs.read_text("utf-8") == f"0\n3\n1 0\n2 2\n{plan.new_epoch} {end}\n"


def test_a_damaged_list_of_epochs_is_refused(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    (disk.metadata_dir / "leader-epoch-checkpoint").write_text("0\n1\nx\n", encoding="utf-8")
    before = disk.segment.read_bytes()
    with pytest.raises(ApplyError, match=r"leader-epoch-checkpoint is damaged"):
        pending_changes(a_plan(disk), disk.host)
    assert disk.segment.read_bytes() == before


def test_a_backup_among_the_logs_is_refused(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    before = disk.segment.read_bytes()
    plan = a_plan(disk)
    with pytest.raises(BackupError, match=r"quorum_recovery_backup_dir: .* a broker does not start"):
        apply(plan, disk.host, f"{plan.log_dir}/backup")
    assert disk.segment.read_bytes() == before


def test_static_voters_leave_the_log_and_every_other_byte(tmp_path: Path) -> None:
    disk = Disk(tmp_path, dynamic=False).add(topic_record("a"))
    log, properties = disk.segment.read_bytes(), disk.properties.read_text("utf-8")
    backup = apply(a_plan(disk), disk.host, None)
    assert disk.segment.read_bytes() == log
    changed = "controller.quorum.voters = 101@c101.invalid:9093"
    assert disk.properties.read_text("utf-8") == "".join(
        f"{changed}\n" if line.startswith("controller.quorum.voters") else line
        for line in properties.splitlines(keepends=True)
    )
    assert Path(backup, disk.properties.name).read_text("utf-8") == properties
    # Kafka 3.9 does not start as the only voter with a vote for itself, whatever the kind of quorum.
    assert json.loads(disk.quorum_state.read_text("utf-8"))["votedId"] == -1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"KEY=VOTERS\r\nx=1\r\n", b"KEY=MINE\r\nx=1\r\n"),
        (b"  KEY : 101@c101.invalid:9093,\\\n  102@c102.invalid:9093,103@c103.invalid:9093\nx=1", b"  KEY : MINE\nx=1"),
        (b"KEY=\\\r\n  VOTERS\r\nx=1", b"KEY=MINE\r\nx=1"),
        (b"#KEY=1@old:1\nKEY=1@old:1\nKEY VOTERS", b"#KEY=1@old:1\nKEY=1@old:1\nKEY MINE"),
        (b"# caf\xe9 \\\ncontroller\\.quorum.voters=VOTERS\n", b"# caf\xe9 \\\nKEY=MINE\n"),
    ],
    ids=["CRLF", "continued", "continued from its start", "several times", "escapes"],
)
def test_voters_are_replaced_however_they_are_written(tmp_path: Path, before: bytes, after: bytes) -> None:
    disk = Disk(tmp_path, dynamic=False).add(topic_record("a"))
    common = b"node.id=101\nprocess.roles=controller\nlog.dirs=" + bytes(disk.log_dir) + b"\n"

    def written(text: bytes) -> bytes:
        voters = b",".join(b"%d@c%d.invalid:9093" % (each, each) for each in VOTERS)
        named = text.replace(b"KEY", b"controller.quorum.voters").replace(b"VOTERS", voters)
        return common + named.replace(b"MINE", b"101@c101.invalid:9093")

    target = tmp_path / "elsewhere.properties"
    target.write_bytes(written(before))
    disk.properties.unlink()
    disk.properties.symlink_to(target)
    apply(a_plan(disk), disk.host, None)
    assert target.read_bytes() == written(after)
    assert disk.properties.is_symlink()


def test_an_epoch_that_another_node_has_seen_is_passed(tmp_path: Path) -> None:
    disk = Disk(tmp_path, dynamic=False).add(topic_record("a"))
    apply(replace(a_plan(disk), highest_epoch=12), disk.host, None)
    state = json.loads(disk.quorum_state.read_text("utf-8"))
    assert (state["leaderEpoch"], state["leaderId"], state["votedId"]) == (12, -1, -1)


def test_looking_writes_nothing(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    before = disk.files()
    assert len(pending_changes(a_plan(disk), disk.host)) == 2
    assert disk.files() == before


def test_a_torn_tail_is_replaced_by_the_batch(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    whole = disk.segment.read_bytes()
    disk.segment.write_bytes(whole + b"\0" * 5)
    plan = a_plan(disk)
    apply(plan, disk.host, None)
    assert disk.segment.read_bytes() == whole + planned_batch(plan)


def test_a_log_that_has_changed_since_the_plan(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    plan = a_plan(disk)
    disk.add(topic_record("b"))
    before = disk.files()
    with pytest.raises(ApplyError, match="is not what the plan was made for"):
        apply(plan, disk.host, None)
    # The lock file is empty, and each node creates it.
    assert {path: each for path, each in disk.files().items() if not path.endswith(".lock")} == before


def test_a_damaged_backup_stops_everything(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    plan = a_plan(disk)
    name = f"data.quorum-recovery-{plan.digest.rpartition(':')[2][:12]}"
    (tmp_path / "backup" / name).mkdir(parents=True)
    before = disk.segment.read_bytes()
    with pytest.raises(BackupError, match="differs from the original"):
        apply(plan, disk.host, str(tmp_path / "backup"))
    assert disk.segment.read_bytes() == before


def test_a_killed_run_is_continued(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    plan = a_plan(disk)
    backup = apply(plan, disk.host, None)
    done = disk.segment.read_bytes()
    pending = read_pending(str(disk.log_dir))
    assert pending is not None
    assert pending.step is RecoveryStep.CHANGED
    write_pending(str(disk.log_dir), pending.at(RecoveryStep.CHANGING))
    disk.segment.write_bytes(done[:-7])
    assert apply(plan, disk.host, None) == backup
    assert disk.segment.read_bytes() == done
    assert pending_changes(plan, disk.host) == []


def test_another_plan_does_not_continue_it(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    plan = a_plan(disk)
    apply(plan, disk.host, None)
    with pytest.raises(ApplyError, match="another recovery was begun"):
        apply(replace(plan, digest="sha256:other"), disk.host, None)


def test_a_node_that_runs_is_left_alone(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    plan = a_plan(disk)
    before = disk.segment.read_bytes()
    with locked_by_another_process(disk.log_dir):
        assert disk.read().is_running
        with pytest.raises(ApplyError, match="controller 101 runs on node101"):
            pending_changes(plan, disk.host)
        with pytest.raises(LogDirError, match="a node runs on it"):
            apply(plan, disk.host, None)
    assert disk.segment.read_bytes() == before
