# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replicas that are in sync only by the log that goes on: which they are, and that their brokers start last."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.metadata_records import decode_record, read_head
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.beyond import Overtaken
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.node import read_properties
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.overtaken import PartitionChanges
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.plan import Said, decide
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.scan import read_copy
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.words import (
    describe,
    describe_verified,
)
from unit.quorum_recovery.disks import VOTERS, Disk, a_verified, topic_record

_ORDERS = b"orders".ljust(16, b"\0")
_ISR, _LEADER, _ELR = 0, 1, 6


def ids(brokers: Sequence[int]) -> bytes:
    return bytes([len(brokers) + 1]) + b"".join(struct.pack(">i", each) for each in brokers)


def created(partition: int, replicas: Sequence[int], isr: Sequence[int]) -> bytes:
    lists = ids(replicas) + ids(isr) + ids([]) * 2
    return b"\x01\x03\x00" + struct.pack(">i", partition) + _ORDERS + lists + struct.pack(">3i", isr[0], 0, 0) + b"\0"


def changed(partition: int, **fields: Sequence[int] | int) -> bytes:
    values: dict[int, bytes] = {}
    for name, tag in (("isr", _ISR), ("leader", _LEADER), ("elr", _ELR)):
        if name in fields:
            value = fields[name]
            values[tag] = struct.pack(">i", value) if isinstance(value, int) else ids(value)
    tagged = b"".join(bytes([tag, len(value)]) + value for tag, value in values.items())
    return b"\x01\x05\x02" + struct.pack(">i", partition) + _ORDERS + bytes([len(values)]) + tagged


def find(
    kept: Sequence[bytes], newer: Sequence[bytes], snapshot: Sequence[bytes] = (), end: int = 0
) -> list[Overtaken]:
    lacking = EpochRange(2, len(kept), len(kept) + len(newer))
    changes = PartitionChanges(end, (lacking,))
    changes.take_snapshot(snapshot)
    if kept:
        changes.take(kept, EpochRange(1, 0, len(kept)))
    changes.take(newer, lacking)
    return list(changes.find(lambda _id: "orders"))


def test_the_records_are_as_kafka_writes_them() -> None:
    value = changed(3, isr=[2, 3], leader=2, elr=[1])
    fields = decode_record(value, read_head(value))
    found = (fields["partition_id"], fields["isr"], fields["leader"], fields["eligible_leader_replicas"])
    assert found == (3, [2, 3], 2, [1])
    value = created(1, [1, 2, 3], [2, 1])
    fields = decode_record(value, read_head(value))
    assert (fields["replicas"], fields["isr"], fields["leader"]) == ([1, 2, 3], [2, 1], 2)


@pytest.mark.parametrize(
    ("newer", "expected"),
    [
        pytest.param([changed(0, isr=[3, 2], leader=3)], [((1,), (3, 2))], id="the leader died: the new one is first"),
        pytest.param([changed(0, isr=[1, 2])], [((3,), (1, 2))], id="a follower was too slow"),
        pytest.param([changed(0, isr=[1]), changed(0, isr=[1, 2, 3])], [], id="it caught up again"),
        pytest.param([changed(0, leader=2)], [], id="only the leader moved"),
        pytest.param([changed(0, isr=[], elr=[1, 2], leader=-1)], [((3,), (1, 2))], id="eligible ones are in sync"),
        pytest.param([changed(9, isr=[2])], [], id="a partition that the log that goes on does not have"),
    ],
)
def test_who_left_the_isr_in_what_is_forgotten(newer: list[bytes], expected: list[object]) -> None:
    found = find([created(0, [1, 2, 3], [1, 2, 3])], newer)
    assert [(each.stale, each.in_sync) for each in found] == expected


def test_a_change_before_counts() -> None:
    kept = [created(0, [1, 2, 3], [1, 2, 3]), changed(0, isr=[1, 2])]
    assert find(kept, [changed(0, isr=[1])]) == [Overtaken((2,), (1,), ("orders-0",))]


def test_a_snapshot_is_the_state_before_it_or_hides_it() -> None:
    before = [created(0, [1, 2, 3], [1, 2])]
    assert find([], [changed(0, isr=[1])], before) == [Overtaken((2,), (1,), ("orders-0",))]
    after = [created(0, [1, 2, 3], [1])]
    hidden = find([], [changed(0, isr=[1])], after, end=1)
    assert hidden == [Overtaken((2, 3), (1,), ("orders-0",))], "both may have been in sync before"


def test_equal_partitions_are_named_together() -> None:
    kept = [created(each, [1, 2], [1, 2]) for each in range(3)]
    newer = [changed(2, isr=[2], leader=2), changed(0, isr=[2], leader=2), changed(1, isr=[1])]
    assert find(kept, newer) == [
        Overtaken((1,), (2,), ("orders-0", "orders-2")),
        Overtaken((2,), (1,), ("orders-1",)),
    ]


def read_forgotten(disk: Disk, end: int) -> Said:
    """Read what a copy has after an offset, as the second look does."""
    properties = read_properties(str(disk.properties))
    lacking = (EpochRange(1, end, disk.end_offset),)
    found = read_copy(disk.host, properties.log_dir, properties, lacking=lacking)
    return tuple(found.beyond), found.overtaken


def test_a_log_that_begins_after_the_end_of_the_one_that_goes_on(tmp_path: Path) -> None:
    """What lies between is only in the snapshot: it is forgotten, too, and a shrunken ISR there overtakes replicas."""
    disk = Disk(tmp_path).add(topic_record("orders"), created(0, [1, 2, 3], [1, 2, 3]), created(1, [1, 2], [1, 2]))
    ahead = Disk(tmp_path, 2, role="broker").begin_at(500)
    ahead.add_snapshot(500, topic_record("orders"), created(0, [1, 2, 3], [2, 3]), created(1, [1, 2], [1, 2]))
    for number in range(100):
        ahead.add(topic_record(f"t{number}"))
    (beyond,) = decide([disk.read(), ahead.read()], VOTERS[1:]).beyond
    assert (beyond.records, beyond.records_in_snapshot) == (600 - disk.end_offset, 500 - disk.end_offset)
    says, overtaken = read_forgotten(ahead, disk.end_offset)
    assert overtaken == (Overtaken((1,), (2, 3), ("orders-0",)),)
    copies = [disk.read(), ahead.read()]
    text = "\n".join(describe(copies, decide(copies, VOTERS[1:], said={ahead.host: (says, overtaken)})))
    assert "Forgotten: 595 records that only broker 2 on node2 holds (495 only in its snapshot):" in text
    assert "Start broker 1 last" in text


def test_an_empty_log_after_a_snapshot_is_ahead_by_the_snapshot(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("orders"), created(0, [1, 2], [1, 2]))
    ahead = Disk(tmp_path, 2, role="broker").begin_at(500)
    ahead.segment.touch()
    ahead.add_snapshot(500, topic_record("orders"), created(0, [1, 2], [2]))
    (beyond,) = decide([disk.read(), ahead.read()], VOTERS[1:]).beyond
    assert beyond.records == beyond.records_in_snapshot == 500 - disk.end_offset
    assert read_forgotten(ahead, disk.end_offset)[1] == (Overtaken((1,), (2,), ("orders-0",)),)


def test_an_overtaken_broker_must_stop_and_starts_last(tmp_path: Path) -> None:
    both = (topic_record("orders"), created(0, [1, 2, 3], [1, 2, 3]), created(1, [1, 2], [1, 2]))
    disk, ahead, stale = Disk(tmp_path), Disk(tmp_path, 2, role="broker"), Disk(tmp_path, 1, role="broker")
    for each in (disk, ahead, stale):
        each.add(*both)
    ahead.add(changed(0, isr=[2, 3], leader=2))
    copies = [disk.read(), ahead.read(), replace(stale.read(), is_running=True)]
    decision = decide(copies, VOTERS[1:], said={ahead.host: read_forgotten(ahead, disk.end_offset)})
    assert decision.must_stop == ("broker 1 on node1, whose replicas are overtaken",)
    assert decision.plan is not None
    verified = a_verified(missing_brokers=1)
    for lines in (describe(copies, decision), describe_verified(decision.plan, verified)):
        text = "\n".join(lines)
        assert "orders-0: the log that goes on has broker 1 in sync" in text
        assert "all records are only on brokers 2, 3" in text
        assert "Start broker 1 last, when others lead these partitions" in text
        assert "No order of starts" not in text

    ahead.add(changed(1, isr=[1]))
    copies = [disk.read(), ahead.read(), stale.read()]
    decision = decide(copies, VOTERS[1:], said={ahead.host: read_forgotten(ahead, disk.end_offset)})
    text = "\n".join(describe(copies, decision))
    assert (
        "No order of starts keeps all records of orders-1: before they start, save what the disks of broker 1" in text
    )


def test_a_look_without_a_broker_says_what_it_cannot_know(tmp_path: Path) -> None:
    disk, broker = Disk(tmp_path), Disk(tmp_path, 1, role="broker")
    note = "no broker's copy was read. A broker may be ahead"
    assert any(each.startswith(note) for each in decide([disk.read()], VOTERS[1:]).notes)
    assert decide([disk.read(), broker.read()], VOTERS[1:]).notes == ()
