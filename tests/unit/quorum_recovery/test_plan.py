# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which copy of the metadata log goes on, and every reason against a recovery."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.copy import CopyState
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.look import look
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.module import plan_results
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.plan import (
    decide,
    decode_plan,
    encode_plan,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.scan import read_copy
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.words import (
    describe,
    describe_verified,
)
from unit.quorum_recovery.disks import (
    BEGIN_TRANSACTION,
    END_TRANSACTION,
    VOTERS,
    Disk,
    a_plan,
    a_verified,
    directory_id,
    locked_by_another_process,
    topic_record,
    voter,
)

_FIVE = (101, 102, 103, 104, 105)


def two_of_five(tmp_path: Path) -> tuple[Disk, Disk]:
    return Disk(tmp_path, 101, voters=_FIVE), Disk(tmp_path, 102, voters=_FIVE)


def test_the_highest_epoch_wins_before_the_highest_offset(tmp_path: Path) -> None:
    longer, newer = two_of_five(tmp_path)
    longer.add(topic_record("a"), epoch=3).add(topic_record("b"), topic_record("c"), epoch=3)
    newer.add(topic_record("d"), epoch=4)
    decision = decide([longer.read(), newer.read()], _FIVE[2:])
    assert decision.plan is not None
    assert (decision.plan.node_id, decision.plan.epoch, decision.plan.end_offset) == (102, 4, 3)
    (beyond,) = decision.beyond
    assert (beyond.host, beyond.records, beyond.is_controller) == ("node101", 3, True)


def test_a_broker_that_is_ahead_is_to_copy_the_log_again(tmp_path: Path) -> None:
    disk, broker = Disk(tmp_path), Disk(tmp_path, 1, role="broker")
    broker.add(topic_record("a"))
    copies = [disk.read(), broker.read()]
    lines = describe(copies, decide(copies, VOTERS[1:]))
    (number,) = (place for place, each in enumerate(lines) if each.startswith("Forgotten: "))
    assert "only broker 1 on node1 holds" in lines[number]
    assert "stop broker 1, remove its directory __cluster_metadata-0, and start it" in lines[number + 1]
    verified = a_verified()
    said = describe_verified(a_plan(disk, broker), verified)
    assert any(each.startswith("Now stop each broker of 1, remove its directory __cluster_metadata-0") for each in said)


def test_of_the_same_epoch_the_longest_log_wins(tmp_path: Path) -> None:
    shorter, longer = two_of_five(tmp_path)
    shorter.add(topic_record("a"))
    longer.add(topic_record("a")).add(topic_record("b"))
    plan = a_plan(shorter, longer, lost=_FIVE[2:])
    assert (plan.node_id, plan.forgets) == (102, ())
    assert plan.voter == voter(102)


def test_of_equal_logs_that_of_a_voter_goes_on(tmp_path: Path) -> None:
    """A controller that was not added yet follows the log like a broker. The inventory may name it first."""
    voter, observer = [Disk(tmp_path, each, voters=VOTERS).add(topic_record("a")).read() for each in (101, 104)]
    for copies in ([observer, voter], [voter, observer]):
        plan = decide(copies, [102, 103]).plan
        assert plan is not None
        assert plan.host == voter.host


def test_a_controller_that_is_no_voter_is_ahead(tmp_path: Path) -> None:
    voter, observer = Disk(tmp_path, 101), Disk(tmp_path, 104, voters=VOTERS).add(topic_record("a"))
    (refusal,) = decide([observer.read(), voter.read()], [102, 103]).refusals
    assert refusal.startswith(
        "controller 104 on node104 has the newest log, and is none of the voters 101, 102 and 103"
    )
    assert "No controller's disk is left" in refusal


def test_a_snapshot_after_the_end_of_the_log_counts(tmp_path: Path) -> None:
    """The node died after it had copied the snapshot, and before it cut its log to it."""
    crashed, other = two_of_five(tmp_path)
    crashed.add(topic_record("a"), epoch=3)
    crashed.add_snapshot(5000, topic_record("a"), topic_record("b"), epoch=9)
    other.add(topic_record("c"), epoch=4)
    found = crashed.read()
    assert (found.rank, found.log_start_offset, found.lineage_ranges) == ((9, 5000), 5000, ())
    assert found.ends_before_snapshot
    decision = decide([found, other.read()], _FIVE[2:])
    assert decision.plan is None
    (refusal,) = decision.refusals
    assert refusal.startswith("the log of controller 101 on node101 ends before its newest snapshot")
    assert "Start it once, with its old voters" in refusal


def test_a_damaged_log_is_not_taken_for_one_that_is_to_be_cut(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    position = disk.segment.stat().st_size
    for number in range(20):
        disk.add(topic_record(f"b{number}"))
    content = disk.segment.read_bytes()
    disk.segment.write_bytes(content[:position] + b"\xff" * 40 + content[position + 40 :])
    disk.add_snapshot(10, topic_record("a"))
    found = disk.read()
    assert (found.state, found.ends_before_snapshot) == (CopyState.DAMAGED, False)


def test_a_plan_survives_its_file(tmp_path: Path) -> None:
    plan = a_plan(Disk(tmp_path).add(topic_record("a")))
    assert decode_plan(json.loads(json.dumps(encode_plan(plan)))) == plan


def test_no_epoch_may_be_below_one_that_a_vote_has_seen(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    state = json.loads(disk.quorum_state.read_text("utf-8")) | {"leaderEpoch": 9}
    disk.quorum_state.write_text(json.dumps(state), encoding="utf-8")
    assert a_plan(disk).highest_epoch == 9


def test_a_majority_with_whole_disks_is_to_be_started(tmp_path: Path) -> None:
    copies = [Disk(tmp_path, each).read() for each in (101, 102)]
    decision = decide(copies, [103])
    assert decision.plan is None
    assert decision.refusals[0].startswith("start controllers 101 and 102 first; their disks are whole")


@pytest.mark.parametrize(
    ("running", "refusal"),
    [
        ({101}, "start controller 102 first; its disk is whole, and 2 of 3 voters are a majority"),
        ({101, 102}, "controllers 101 and 102 run, and 2 of 3 voters are a majority. Nothing needs to be recovered"),
    ],
)
def test_a_controller_that_runs_is_not_to_be_started(tmp_path: Path, running: set[int], refusal: str) -> None:
    copies = [replace(Disk(tmp_path, each).read(), is_running=each in running) for each in (101, 102)]
    assert decide(copies, [103]).refusals[0].startswith(refusal)


def test_a_new_disk_of_a_voter_is_no_old_voter(tmp_path: Path) -> None:
    """A controller that was formatted again has another directory id, and does not count to the majority."""
    new = replace(Disk(tmp_path, 102).read(), directory_id=directory_id(999), log_end_offset=1, lineage_ranges=())
    decision = decide([Disk(tmp_path).read(), new], VOTERS[1:])
    assert decision.plan is not None
    assert decision.plan.node_id == VOTERS[0]


def test_voters_that_are_not_declared_lost(tmp_path: Path) -> None:
    copy = Disk(tmp_path).read()
    (reason,) = decide([copy], []).refusals
    assert (
        "quorum_recovery_lost_voters is not set. If voters 102 and 103 are lost for good, set it to 102,103" in reason
    )
    (reason,) = decide([copy], [102]).refusals
    assert reason.startswith("voter 103 is neither declared lost nor has a whole disk in this run")


def test_declarations_that_are_wrong(tmp_path: Path) -> None:
    refusals = decide([Disk(tmp_path).read()], [101, 102, 103, 104]).refusals
    assert "quorum_recovery_lost_voters names 104, and the voters are 101, 102 and 103" in refusals
    assert any(each.startswith("voter 101 is declared lost, and its disk on node101 is whole") for each in refusals)


def test_a_lost_voter_that_answers(tmp_path: Path) -> None:
    (reason,) = decide([Disk(tmp_path).read()], VOTERS[1:], {103: "c103.invalid:9093"}).refusals
    assert reason.startswith("voter 103 answers at c103.invalid:9093: stop it")


@pytest.mark.parametrize(("others", "is_refused"), [([103], False), ([102], True), ([101], True)])
def test_the_operator_says_which_address_another_program_answers(
    tmp_path: Path, others: list[int], is_refused: bool
) -> None:
    answering = {103: "c103.invalid:9093"}
    decision = decide([Disk(tmp_path).read()], VOTERS[1:], answering, answered_by_others=others)
    assert bool(decision.refusals) == is_refused
    assert any("c103.invalid:9093 answers. It is not voter 103" in each for each in decision.notes) != is_refused


def test_a_broker_with_the_id_of_a_lost_voter_may_run(tmp_path: Path) -> None:
    """Kafka does not compare the ids of brokers with those of dynamic voters."""
    broker = Disk(tmp_path, 102, role="broker").add(topic_record("a"))
    with locked_by_another_process(broker.log_dir):
        found = decide([Disk(tmp_path).add(topic_record("a")).read(), broker.read()], VOTERS[1:])
    assert (found.refusals, found.must_stop) == ((), ())


def test_a_lost_voter_that_runs_with_a_damaged_disk(tmp_path: Path) -> None:
    damaged = replace(Disk(tmp_path, 102).read(), state=CopyState.DAMAGED, reason="corrupt", is_running=True)
    decision = decide([Disk(tmp_path).read(), damaged], VOTERS[1:])
    assert [each.partition(" (")[0] for each in decision.refusals] == ["voter 102 runs on node102"]


def test_a_running_survivor_is_to_be_stopped(tmp_path: Path) -> None:
    decision = decide([replace(Disk(tmp_path).read(), is_running=True)], VOTERS[1:])
    assert (decision.refusals, decision.must_stop) == ((), ("controller 101 on node101",))


def test_a_survivor_that_is_a_broker_too_is_to_be_killed(tmp_path: Path) -> None:
    """Its controlled shutdown would wait for a leader of the controllers, and there is none."""
    combined = replace(Disk(tmp_path).read(), is_running=True, roles=("broker", "controller"))
    (text,) = decide([combined], VOTERS[1:]).must_stop
    assert text.startswith("controller 101 on node101 (it is a broker, too: kill it")


def test_a_copy_of_the_disk_is_not_taken_for_the_disk(tmp_path: Path) -> None:
    disk = replace(Disk(tmp_path).read(), is_running=True)
    copy = replace(disk, host="archive", log_dir="/mnt/copy", is_running=False)
    for both in ([disk, copy], [copy, disk]):
        decision = decide(both, VOTERS[1:])
        assert decision.plan is None
        (reason,) = decision.refusals
        assert reason.startswith("controller 101 is in this run more than once: ")
        assert "archive (/mnt/copy)" in reason
        assert decision.must_stop == ("controller 101 on node101",)


def test_a_disk_of_another_cluster(tmp_path: Path) -> None:
    other = Disk(tmp_path, 102, cluster_id="x" * 22)
    refusals = decide([Disk(tmp_path).read(), other.read()], VOTERS[1:]).refusals
    assert refusals[0].startswith("the disks belong to 2 clusters: node101")


def test_the_disk_of_another_node(tmp_path: Path) -> None:
    disk, other = Disk(tmp_path), Disk(tmp_path, 102)
    text = disk.properties.read_text("utf-8").replace(str(disk.log_dir), str(other.log_dir))
    disk.properties.write_text(text, encoding="utf-8")
    found = disk.read()
    assert found.state is CopyState.DAMAGED
    assert found.reason.startswith(f"{other.log_dir} is the disk of node 102")


def test_damage_before_the_end_is_no_source(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a")).add(topic_record("b"))
    content = bytearray(disk.segment.read_bytes())
    content[len(content) // 2] ^= 0xFF
    disk.segment.write_bytes(content)
    found = disk.read()
    assert found.state is CopyState.DAMAGED
    (reason,) = decide([found], VOTERS[1:]).refusals
    assert reason.startswith("no controller's disk has a whole metadata log: node101")


def test_an_empty_disk_is_no_source(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    disk.segment.unlink()
    (disk.log_dir / "meta.properties").unlink()
    assert disk.read().state is CopyState.MISSING


def test_a_torn_last_batch_is_cut_off_and_named(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    whole = disk.read()
    size = disk.segment.stat().st_size
    disk.add(topic_record("b"))
    with disk.segment.open("r+b") as file:
        file.truncate(disk.segment.stat().st_size - 3)
    decision = decide([disk.read()], VOTERS[1:])
    assert decision.plan is not None
    assert (decision.plan.segment_bytes, decision.plan.end_offset) == (size, 3)
    assert decision.plan.checksum == whole.checksum
    assert decision.plan.torn_bytes > 0
    torn = f"{disk.segment}: the last {decision.plan.torn_bytes} bytes are no whole batch, and are cut off"
    assert torn in decision.notes


def test_a_metadata_transaction_without_an_end_does_not_count(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a")).add(BEGIN_TRANSACTION, topic_record("b"))
    decision = decide([disk.read()], VOTERS[1:])
    assert decision.plan is not None
    assert (decision.plan.contents.topics, decision.plan.contents.open_transaction) == (1, True)
    assert any("a metadata transaction has no end in the log" in each for each in decision.notes)
    ended = disk.add(END_TRANSACTION).read()
    assert ended.contents is not None
    assert (ended.contents.topics, ended.contents.open_transaction) == (2, False)


def test_what_was_deleted_is_named(tmp_path: Path) -> None:
    """What is forgotten may be a deletion: then the topic and the ACL are there again."""
    topic, acl = b"orders".ljust(16, b"\0"), b"an id".ljust(16, b"\0")
    created = b"\x01\x12\x00" + acl + b"\x02\x07orders\x03\x0bUser:carol\x02*\x03\x03\x00"
    disk = Disk(tmp_path).add(topic_record("orders")).add(created)
    start = disk.end_offset
    disk.add(b"\x01\x09\x00" + topic + b"\0").add(b"\x01\x13\x00" + acl + b"\0")
    reading = read_copy(disk.host, str(disk.log_dir), None, lacking=(EpochRange(1, start, disk.end_offset),))
    assert reading.beyond == ["topic orders was deleted", "the ACL of User:carol on orders was deleted"]


def test_static_voters_change_in_every_file_that_names_them(tmp_path: Path) -> None:
    disk = Disk(tmp_path, dynamic=False).add(topic_record("a"))
    broker = Disk(tmp_path, 1, dynamic=False, role="broker")
    plan = a_plan(disk, broker)
    assert plan.voter is None
    assert {(each.host, each.after) for each in plan.voters_changes} == {
        ("node101", "101@c101.invalid:9093"),
        ("node1", "101@c101.invalid:9093"),
    }


def test_if_no_controller_is_left_the_newest_copy_of_a_broker_is_named(tmp_path: Path) -> None:
    older, newer = (Disk(tmp_path, each, role="broker") for each in (1, 2))
    newer.add(topic_record("a"))
    (refusal,) = decide([older.read(), newer.read()], VOTERS).refusals
    assert "The newest copy of a broker is that of broker 2 on node2, in epoch 1 up to offset 3" in refusal


def test_a_reviewed_plan_says_itself_which_voters_are_lost(tmp_path: Path) -> None:
    disk, plan_file = Disk(tmp_path), tmp_path / "plan.json"
    disk.add(topic_record("a"))
    looked = look({"host": disk.host, "properties": str(disk.properties), "log_dir": None, "lacking": None})
    nothing_else = dict.fromkeys(("plan_file", "output_file", "outcome", "report_file")) | {"unread": {}}
    params = nothing_else | {
        "logs": [looked],
        "lost_voters": [102, 103],
        "report_later": False,
        "answered_by_others": [],
    }
    plan_results({**params, "output_file": str(plan_file)}, check_mode=False)
    reviewed = {**params, "plan_file": str(plan_file)}
    for lost in ([], [103, 102]):
        assert plan_results({**reviewed, "lost_voters": lost}, check_mode=False)["refusals"] == []
    (refusal,) = plan_results({**reviewed, "lost_voters": [102]}, check_mode=False)["refusals"]
    assert refusal.startswith("voter 103 is neither declared lost nor has a whole disk")


def test_the_report_of_a_survivor_that_does_not_lead_has_no_outcome(tmp_path: Path) -> None:
    disk, report = Disk(tmp_path).add(topic_record("a")), tmp_path / "report.json"
    looked = look({"host": disk.host, "properties": str(disk.properties), "log_dir": None, "lacking": None})
    params = {"logs": [looked], "lost_voters": [102, 103], "unread": {}, "plan_file": None, "output_file": None}
    params["answered_by_others"] = []
    failed = {"failed": True, "msg": "controller 101 does not lead"}
    plan_results({**params, "outcome": failed, "report_file": str(report), "report_later": False}, check_mode=False)
    assert json.loads(report.read_text("utf-8"))["outcome"] is None


def test_the_partitions_of_lost_brokers_come_before_their_new_disks(tmp_path: Path) -> None:
    copy = Disk(tmp_path).read()
    assert copy.contents is not None
    copy = replace(copy, contents=replace(copy.contents, brokers=(1, 101, 102)))
    decision = decide([copy], VOTERS[1:])
    assert decision.plan is not None
    assert any(each.startswith("Brokers too: 102. ") for each in describe([copy], decision))
    verified = a_verified()
    first, following = describe_verified(decision.plan, verified)[-2:]
    assert first.startswith("First, the partitions of brokers 102, unless ")
    assert "unclean_recovery_lost_brokers=102," in first
    assert following.startswith("Next, format each controller of 102, 103")


def test_a_survivor_that_is_behind_is_added_with_its_disk(tmp_path: Path) -> None:
    behind, ahead = two_of_five(tmp_path)
    ahead.add(topic_record("a"))
    verified = a_verified(voters=(102,))
    lines = describe_verified(a_plan(behind, ahead, lost=_FIVE[2:]), verified)
    assert lines[-1] == "Add 101 in the same way, with the old disk: it is whole."
