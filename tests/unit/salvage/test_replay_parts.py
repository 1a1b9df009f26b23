# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Newer keys in a leader's log, records that losers hold, and committed offsets of groups."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.groups import Commit
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.log_reading import (
    CommittedLog,
    OpenTransactionError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange, Tail
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.from_replicas import remove_overlaps
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.group_offsets import read_commits
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.partition_replay import NewerKeys, hash_key
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.saved_run import (
    SavedRun,
    add_origin_headers,
    name_origin,
    read_origin,
)
from unit.salvage.batches import a_batch
from unit.salvage.saved import a_run, runs

ORDERS = TopicPartition("orders", 0)


class Leader:
    """Answers Fetch from memory."""

    def __init__(self, *batches: tuple[int, bytes], end: int, stable: int | None = None, aborted: Any = ()) -> None:
        self.batches, self.end, self.stable, self.aborted = list(batches), end, stable, aborted

    def __call__(self, request: Any) -> Any:
        offset = request.topics[0].partitions[0].fetch_offset
        stable = self.end if self.stable is None else self.stable
        content = b"".join(raw for first, raw in self.batches if offset <= first < stable)
        answer = SimpleNamespace(
            error_code=0,
            records=content,
            high_watermark=self.end,
            last_stable_offset=stable,
            aborted_transactions=[SimpleNamespace(producer_id=one, first_offset=at) for one, at in self.aborted],
        )
        return SimpleNamespace(error_code=0, responses=[SimpleNamespace(partitions=[answer])])


def keys_of(leader: Leader, offset: int = 0) -> list[bytes | None]:
    return [record.key for _epoch, record in CommittedLog(leader, ORDERS, offset).read(0)]


def test_aborted_records_are_not_read() -> None:
    leader = Leader(
        (0, a_batch(0, b"plain")),
        (1, a_batch(1, b"aborted", producer=7)),
        (2, a_batch(2, b"committed", producer=8)),
        (3, a_batch(3, producer=7, control=0)),
        (4, a_batch(4, producer=8, control=1)),
        (5, a_batch(5, b"later", producer=7)),
        (6, a_batch(6, producer=7, control=1)),
        end=7,
        aborted=[(7, 1)],
    )
    assert keys_of(leader) == [b"plain", b"committed", b"later"]


def test_an_open_transaction_is_an_error() -> None:
    leader = Leader((0, a_batch(0, b"plain")), (1, a_batch(1, b"open", producer=7)), end=2, stable=1)
    with pytest.raises(OpenTransactionError, match="open transaction from offset 1 on"):
        keys_of(leader)


def test_what_comes_before_an_open_transaction_can_be_read_without_waiting() -> None:
    leader = Leader((0, a_batch(0, b"plain")), (1, a_batch(1, b"open", producer=7)), end=2, stable=1)
    log = CommittedLog(leader, ORDERS, 0)
    assert [record.key for _epoch, record in log.read(None)] == [b"plain"]
    assert log.is_open
    leader.stable = 2
    assert [record.key for _epoch, record in log.read(None)] == [b"open"]
    assert not log.is_open


class BusyLeader(Leader):
    """Gets another batch before each answer. With a producer id, each one is a transaction that is open for a while."""

    def __init__(self, producer: int = -1) -> None:
        super().__init__((0, a_batch(0, b"0", producer=producer)), end=1)
        self.producer = producer

    def __call__(self, request: Any) -> Any:
        assert self.end < 20, "the log is read faster than it grows"
        self.batches.append((self.end, a_batch(self.end, b"%d" % self.end, producer=self.producer)))
        self.stable = self.end if self.producer >= 0 else None
        self.end += 1
        return super().__call__(request)


@pytest.mark.parametrize("producer", [-1, 7], ids=["plain", "transactions, one of which is open at any time"])
def test_a_log_that_is_written_as_fast_as_it_is_read_has_an_end(producer: int) -> None:
    log = CommittedLog(BusyLeader(producer), ORDERS, 0)
    assert [record.key for _epoch, record in log.read(60)][:2] == [b"0", b"1"]
    assert [record.key for _epoch, record in log.read(60)], "the next call goes on"
    assert [record.key for record, _is_transactional in log.read_unsettled()]


def test_a_damaged_answer_is_refused() -> None:
    damaged = bytearray(a_batch(0, b"plain"))
    damaged[-1] ^= 1
    with pytest.raises(BrokerCallError, match="does not have its checksum"):
        keys_of(Leader((0, bytes(damaged)), end=1))


def test_a_replayed_record_counts_with_its_original_epoch_and_offset() -> None:
    """The headers of a replayed record have these."""
    (given,) = add_origin_headers("c", a_run({"offset": 105, "key": b"given"}))
    leader = Leader(
        (100, a_batch(100, b"newer", b"other")),
        (102, a_batch(102, b"given", headers=given)),
        end=103,
    )
    newer = NewerKeys(leader, ORDERS, 100, {hash_key(b"newer"), hash_key(b"given")}, name_origin("c", ORDERS))
    newer.read_to_end()
    assert newer.has_newer_record(b"newer", 3, 120)
    assert not newer.has_newer_record(b"given", 3, 105)
    assert not newer.has_newer_record(b"given", 3, 110)
    assert newer.has_newer_record(b"given", 3, 104)
    assert not newer.has_newer_record(b"absent", 3, 104)


@pytest.mark.parametrize(
    ("cluster_id", "place"),
    [("mirrored", ORDERS), ("c", TopicPartition("payments", 0)), ("c", TopicPartition("orders", 1))],
)
def test_headers_that_were_copied_from_another_place_say_nothing(cluster_id: str, place: TopicPartition) -> None:
    """Kafka Streams writes a record with the headers of the one that it was made from."""
    (copied,) = add_origin_headers(
        cluster_id, a_run({"offset": 5, "topic": place.topic, "partition": place.partition, "key": b"k"})
    )
    leader = Leader((102, a_batch(102, b"k", headers=copied)), end=103)
    newer = NewerKeys(leader, ORDERS, 100, {hash_key(b"k")}, name_origin("c", ORDERS))
    newer.read_to_end()
    assert newer.has_newer_record(b"k", 3, 101), "the present value must not be overwritten"


def test_headers_name_the_origin() -> None:
    run = a_run({"offset": 105, "timestamp_ms": 99, "headers": [{"key": "own", "value": None}]}, {"offset": 106})
    first, second = add_origin_headers("cluster", run)
    origin = name_origin("cluster", ORDERS)
    assert [read_origin(each, origin) for each in (first, second)] == [(3, 105), (3, 106)]
    assert read_origin([("other", b"1")], origin) is None
    assert first == [
        ("own", None),
        *(
            (f"kafkaops.salvage.{name}", value)
            for name, value in {
                "cluster": b"cluster",
                "broker": b"1",
                "topic": b"orders",
                "partition": b"0",
                "epoch": b"3",
                "offset": b"105",
                "timestamp": b"99",
            }.items()
        ),
    ]
    assert len(second) == 7


def test_records_that_two_losers_hold_are_saved_once() -> None:
    one = Tail(ORDERS, "id", 1, (EpochRange(3, 100, 150),))
    two = Tail(ORDERS, "id", 2, (EpochRange(3, 100, 170), EpochRange(4, 170, 180)))
    assert remove_overlaps([one, two]) == [
        one,
        Tail(ORDERS, "id", 2, (EpochRange(3, 150, 170), EpochRange(4, 170, 180))),
    ]


def test_records_of_losers_with_different_logs_are_saved_in_the_order_of_their_epochs() -> None:
    """As after two unclean elections: the newer log begins at a lower offset."""
    newer = Tail(ORDERS, "id", 1, (EpochRange(6, 95, 120),))
    older = Tail(ORDERS, "id", 2, (EpochRange(5, 100, 150),))
    assert remove_overlaps([newer, older]) == [older, newer]


def a_commit(group: str, offset: int | None, outcome: str = "none") -> dict[str, Any]:
    texts = [struct.pack(">h", len(each)) + each.encode() for each in (group, "orders")]
    key = struct.pack(">h", 1) + b"".join(texts) + struct.pack(">i", 0)
    value = None if offset is None else struct.pack(">hqi", 3, offset, -1)
    return {"topic": "__consumer_offsets", "key": key, "value": value, "transaction": outcome}


def in_order(*rows: dict[str, Any], epoch: int = 3, start: int = 100) -> list[SavedRun]:
    """Return these rows as records of one leader epoch, in the order of the log."""
    return runs(*(each | {"leader_epoch": epoch, "offset": at} for at, each in enumerate(rows, start)))


def test_the_last_commit_of_a_group_counts() -> None:
    rows = [
        a_commit("billing", 10),
        a_commit("billing", 20),
        a_commit("billing", 30, "aborted"),
        a_commit("gone", 5),
        a_commit("gone", None),
        a_commit("x", 1) | {"key": struct.pack(">h", 2) + b"group metadata"},
    ]
    assert read_commits(in_order(*rows)).commits == {("billing", ORDERS): Commit(20)}


def test_the_newest_commit_counts_in_any_order_of_several_disks() -> None:
    """The second outage lost what the leader of the first one's election had: its log is newer, at lower offsets."""
    first = in_order(*(a_commit(each, 50) for each in ("both", "only first", "deleted since")), epoch=3, start=120)
    second = in_order(a_commit("both", 40), a_commit("deleted since", None), epoch=4, start=110)
    expected = {("both", ORDERS): Commit(40), ("only first", ORDERS): Commit(50)}
    assert read_commits([*first, *second]).commits == expected
    assert read_commits([*second, *first, *second]).commits == expected


@pytest.mark.parametrize(
    ("outcome", "commits", "unsettled"), [("committed", 1, 0), ("aborted", 0, 0), ("unknown", 0, 1)]
)
def test_another_disk_may_know_how_a_transaction_ended(outcome: str, commits: int, unsettled: int) -> None:
    one = in_order(a_commit("billing", 100, "unknown"))
    other = in_order(a_commit("billing", 100, outcome))
    for found in (read_commits([*one, *other]), read_commits([*other, *one])):
        assert (len(found.commits), len(found.unsettled)) == (commits, unsettled)


def test_an_offset_in_a_transaction_of_unknown_outcome_is_named_if_nothing_is_known_after_it() -> None:
    rows = [
        a_commit("billing", 100, "committed"),
        a_commit("billing", 200, "unknown"),
        a_commit("shipping", 200, "unknown"),
        a_commit("shipping", 300, "committed"),
        a_commit("streams", 200, "unknown"),
        a_commit("streams", 190, "unknown"),
    ]
    found = read_commits(in_order(*rows))
    assert found.commits == {("billing", ORDERS): Commit(100), ("shipping", ORDERS): Commit(300)}
    assert found.unsettled == {("billing", ORDERS): 200, ("streams", ORDERS): 200}


def test_a_batch_of_commits_that_does_not_decode_is_named() -> None:
    undecodable = {"topic": "__consumer_offsets", "partition": 12, "key": None, "decode_error": "it is zipped"}
    found = read_commits(runs(a_commit("billing", 100), undecodable))
    assert (found.commits, found.undecodable) == (
        {("billing", ORDERS): Commit(100)},
        {TopicPartition("__consumer_offsets", 12)},
    )


def a_flexible_commit(offset: int, *tags: tuple[int, bytes], metadata: str = "") -> dict[str, Any]:
    """Return a commit of version 4: offset, leader epoch, metadata, time, and tagged fields."""
    text = bytes([len(metadata) + 1]) + metadata.encode()
    tagged = b"".join(bytes([tag, len(content)]) + content for tag, content in tags)
    value = struct.pack(">hqi", 4, offset, 7) + text + struct.pack(">q", 1) + bytes([len(tags)]) + tagged
    return a_commit("billing", 1) | {"value": value}


@pytest.mark.parametrize(
    ("tags", "topic_id"),
    [
        ([], None),
        ([(0, bytes(15) + b"\x01")], "AAAAAAAAAAAAAAAAAAAAAQ"),
        ([(1, b"later"), (0, bytes(15) + b"\x01")], "AAAAAAAAAAAAAAAAAAAAAQ"),
        ([(0, b"short")], None),
    ],
)
def test_a_commit_may_have_the_id_of_its_topic(tags: list[tuple[int, bytes]], topic_id: str | None) -> None:
    (found,) = read_commits(runs(a_flexible_commit(20, *tags, metadata="of job 7"))).commits.values()
    assert (found, found.topic_id) == (Commit(20, 7, "of job 7"), topic_id)


def test_a_commit_that_is_cut_off_has_no_topic_id() -> None:
    whole = a_flexible_commit(20, (0, bytes(16)))
    for size in range(len(whole["value"]) - 17, len(whole["value"])):
        (found,) = read_commits(runs(whole | {"value": whole["value"][:size]})).commits.values()
        assert (found.offset, found.topic_id) == (20, None)
