# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker's answers become one row for each replica. False and missing answers are reported, and none is invented."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kafka.protocol.admin import DescribeLogDirsRequest
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest, ListOffsetsResponse

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.replica_logs import probe_replicas
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Cause,
    EpochEnd,
    ReplicaLog,
    TopicPartition,
)
from unit.fakes.clock import FakeClock
from unit.kafka.fake_broker import FakeBroker, FakeReplica
from unit.kafka.fake_epoch_cache import FakeEpochCache
from unit.kafka.fake_probe import (
    BROKER,
    FIRST,
    SECOND,
    SETTINGS,
    TWO_REPLICAS,
    FakeWire,
    Probe,
    a_replica,
    causes,
)


def test_an_honest_broker_reports_everything(probe: Probe) -> None:
    rows, wire = probe(FakeBroker(TWO_REPLICAS).answer)
    assert rows == [
        ReplicaLog(
            "orders",
            0,
            3,
            log_start_offset=0,
            log_end_offset=100,
            current_leader_epoch=9,
            last_written_epoch=5,
            lineage=(EpochEnd(2, 40), EpochEnd(5, 100)),
            size_bytes=1000,
            log_dir="/data",
        ),
        ReplicaLog(
            "orders",
            1,
            3,
            log_start_offset=0,
            log_end_offset=10,
            current_leader_epoch=9,
            last_written_epoch=7,
            lineage=(EpochEnd(7, 10),),
            size_bytes=1000,
            log_dir="/data",
        ),
    ]
    assert all(row.answered for row in rows)
    assert len(wire.connections) == 1


def test_replicas_of_tiered_topics_are_asked_for_their_own_disk_and_the_tier(clock: FakeClock) -> None:
    replicas = {FIRST: a_replica((5, 0), local_start=80, last_tiered=89), SECOND: a_replica((7, 0), end=10)}
    wire = FakeWire([FakeBroker(replicas).answer])
    first, second = probe_replicas(
        SETTINGS,
        BROKER,
        [FIRST, SECOND],
        10,
        tiered={"orders": True},
        open_wire=wire,  # type: ignore[arg-type]
        clock=clock,
    )
    assert (first.is_tiered, first.log_start_offset, first.local_log_start_offset) == (True, 0, 80)
    assert first.last_tiered_offset == 89
    assert (second.local_log_start_offset, second.last_tiered_offset) == (None, None), "-1 is unknown"
    assert first.answered
    assert second.answered


@pytest.mark.parametrize("tiered", [{}, {"orders": False}, {"others": True}])
def test_replicas_of_other_topics_are_not(clock: FakeClock, tiered: dict[str, bool]) -> None:
    wire = FakeWire([FakeBroker(TWO_REPLICAS).answer])
    rows = probe_replicas(
        SETTINGS,
        BROKER,
        [FIRST, SECOND],
        10,
        tiered=tiered,
        open_wire=wire,  # type: ignore[arg-type]
        clock=clock,
    )
    assert {row.is_tiered for row in rows} == {tiered.get("orders")}
    assert not [each for each in wire.requests if getattr(each, "max_version", 0) == 9]


def test_only_the_newest_epoch_is_asked_if_the_lineage_is_known(clock: FakeClock) -> None:
    deep = FakeBroker(
        {FIRST: a_replica((1, 0), (2, 20), (5, 40), end=100), SECOND: a_replica((1, 0), (2, 20), (5, 40), end=100)}
    )
    found = {}
    for known in ({}, {FIRST: None}, {FIRST: None, SECOND: None}):
        wire: Any = FakeWire([deep.answer])
        rows = probe_replicas(
            SETTINGS, BROKER, [FIRST, SECOND], clock.now + 5, only_newest=known, open_wire=wire, clock=clock
        )
        assert {(row.cause, row.last_written_epoch, row.log_end_offset) for row in rows} == {(None, 5, 100)}
        requests = [each.name for each in wire.requests]
        found[len(known)] = (
            requests.count("FetchRequest"),
            requests.count("DescribeLogDirsRequest"),
            [len(row.lineage) for row in rows],
        )
    assert found[2][1:] == (0, [1, 1])
    assert found[1][1:] == (1, [1, 3]), "the other one is asked for all that it holds"
    assert found[0][0] == found[1][0] > found[2][0]


@pytest.mark.parametrize(
    "only_newest", [{}, {FIRST: None}, {FIRST: EpochEnd(2, 100)}], ids=["all", "newest", "confirmed"]
)
def test_epochs_without_records_at_the_end_are_left_out(
    clock: FakeClock, only_newest: dict[TopicPartition, EpochEnd | None]
) -> None:
    """The epoch cache has such epochs if a broker was elected and died before it wrote a record."""
    wire: Any = FakeWire([FakeBroker({FIRST: a_replica((0, 0), (2, 40), (4, 100), (6, 100))}).answer])
    (row,) = probe_replicas(
        SETTINGS, BROKER, [FIRST], clock.now + 5, only_newest=only_newest, open_wire=wire, clock=clock
    )
    assert (row.last_written_epoch, row.log_end_offset) == (2, 100)


def _asked_again(clock: FakeClock, replica: FakeReplica, newest: EpochEnd) -> tuple[ReplicaLog, list[str]]:
    """Ask a replica whose newest epoch with records is expected. Return its row and the requests."""
    wire: Any = FakeWire([FakeBroker({FIRST: replica}).answer])
    (row,) = probe_replicas(
        SETTINGS, BROKER, [FIRST], clock.now + 5, only_newest={FIRST: newest}, open_wire=wire, clock=clock
    )
    return row, [each.name for each in wire.requests]


def test_one_question_confirms_the_newest_epoch_that_is_expected(clock: FakeClock) -> None:
    row, requests = _asked_again(clock, a_replica((1, 0), (5, 40), end=100), EpochEnd(5, 100))
    assert (row.answered, row.last_written_epoch, row.log_end_offset) == (True, 5, 100)
    assert (requests.count("ListOffsetsRequest"), requests.count("FetchRequest")) == (1, 1)


@pytest.mark.parametrize(
    ("epochs", "end", "expected", "found"),
    [
        (((1, 0), (5, 40)), 90, EpochEnd(5, 100), (5, 90)),
        (((1, 0), (5, 40)), 110, EpochEnd(5, 100), (5, 110)),
        (((1, 0), (5, 40), (6, 99)), 100, EpochEnd(5, 100), (6, 100)),
        (((1, 0), (3, 40)), 100, EpochEnd(5, 100), (3, 100)),
        (((7, 0),), 100, EpochEnd(5, 100), (7, 100)),
        (((1, 0),), 0, EpochEnd(5, 100), (None, 0)),
    ],
    ids=["shorter", "longer", "a newer epoch", "an older epoch", "only newer epochs", "empty"],
)
def test_newest_epoch_is_searched_if_the_log_end_changed(
    clock: FakeClock,
    epochs: tuple[tuple[int, int], ...],
    end: int,
    expected: EpochEnd,
    found: tuple[int | None, int],
) -> None:
    row, _requests = _asked_again(clock, a_replica(*epochs, end=end), expected)
    assert (row.answered, row.last_written_epoch, row.log_end_offset) == (True, *found)


def test_no_request_poses_as_a_follower(probe: Probe) -> None:
    _rows, wire = probe(FakeBroker(TWO_REPLICAS).answer)
    replica_ids = {type(each): each.replica_id for each in wire.requests if hasattr(each, "replica_id")}
    assert replica_ids == {ListOffsetsRequest: -2, FetchRequest: -1}
    fetches = [each for each in wire.requests if isinstance(each, FetchRequest)]
    assert {(each._min_version, each._max_version) for each in fetches} == {(12, 12)}


def test_empty_log_has_no_epoch_and_no_error(probe: Probe) -> None:
    rows, wire = probe(FakeBroker({FIRST: a_replica(end=0), SECOND: a_replica((5, 0), end=0)}).answer)
    assert {(row.cause, row.log_end_offset, row.last_written_epoch, row.lineage) for row in rows} == {
        (None, 0, None, ())
    }
    assert not [each for each in wire.requests if isinstance(each, FetchRequest)]


def test_a_log_emptied_by_retention_keeps_its_newest_epoch(probe: Probe) -> None:
    rows, _wire = probe(FakeBroker({FIRST: a_replica((2, 0), (5, 40), start=100), SECOND: a_replica((7, 0))}).answer)
    assert rows[0].log_start_offset == rows[0].log_end_offset == 100
    assert rows[0].lineage == (EpochEnd(5, 100),)


@pytest.mark.parametrize("request_class", [ListOffsetsRequest, FetchRequest])
@pytest.mark.parametrize(
    ("code", "cause", "name"),
    [
        (3, Cause.MISSING, "UNKNOWN_TOPIC_OR_PARTITION (error 3)"),
        (6, Cause.MISSING, "NOT_LEADER_OR_FOLLOWER (error 6)"),
        (29, Cause.NOT_AUTHORIZED, "TOPIC_AUTHORIZATION_FAILED (error 29)"),
        (56, Cause.LOG_DIR_OFFLINE, "KAFKA_STORAGE_ERROR (error 56)"),
        (-1, Cause.ERROR, "UNKNOWN_SERVER_ERROR (error -1)"),
        (999, Cause.ERROR, "UNKNOWN_ERROR_CODE_999 (error 999)"),
    ],
)
def test_error_codes_become_causes_with_their_number(
    probe: Probe, request_class: type, code: int, cause: Cause, name: str
) -> None:
    rows, _wire = probe(FakeBroker(TWO_REPLICAS, errors={request_class: code}).answer)
    assert causes(rows) == [cause, cause]
    right = {ListOffsetsRequest: "DESCRIBE", FetchRequest: "READ"}[request_class]
    needed = f" (our principal needs {right} on the topic)" if code == 29 else ""
    assert all(row.error.endswith(name + needed) for row in rows)
    assert all(row.last_written_epoch is None and row.lineage == () for row in rows)


def test_a_replica_that_the_broker_does_not_hold_is_missing_and_looked_for_again(probe: Probe) -> None:
    rows, wire = probe(FakeBroker({FIRST: TWO_REPLICAS[FIRST]}).answer)
    assert causes(rows) == [None, Cause.MISSING]
    assert len(wire.connections) == 3


def test_a_replica_that_turns_up_meanwhile_is_reported(probe: Probe) -> None:
    rows, wire = probe(FakeBroker({}).answer, FakeBroker(TWO_REPLICAS).answer)
    assert causes(rows) == [None, None]
    assert len(wire.connections) == 2


def drop(partitions: list[Any]) -> None:
    partitions[:] = [each for each in partitions if each.partition_index != 0]


def repeat(partitions: list[Any]) -> None:
    partitions += [each for each in partitions if each.partition_index == 0]


def changing(**values: Any) -> Callable[[list[Any]], None]:
    def change(partitions: list[Any]) -> None:
        for each in partitions:
            for name, value in values.items() if each.partition_index == 0 else ():
                setattr(each, name, value)

    return change


def lying_about_first(lie: Callable[[list[Any]], None]) -> Callable[[Any], None]:
    """Change the partitions of a ListOffsets or Fetch response."""

    def distort(response: Any) -> None:
        for topic in response.topics if isinstance(response, ListOffsetsResponse) else response.responses:
            lie(topic.partitions)

    return distort


@pytest.mark.parametrize(
    ("request_class", "lie", "found"),
    [
        (ListOffsetsRequest, drop, "the broker left it out of its answer"),
        (ListOffsetsRequest, repeat, "the broker answered it 2 times"),
        (ListOffsetsRequest, changing(offset=-1), "offset -1"),
        (FetchRequest, drop, "the broker left it out of its answer"),
        (FetchRequest, repeat, "the broker answered it 2 times"),
        (FetchRequest, changing(diverging_epoch=None), "no error and no diverging epoch"),
    ],
)
def test_wrong_answer_about_one_replica_affects_no_other(
    probe: Probe, request_class: type, lie: Callable[[list[Any]], None], found: str
) -> None:
    rows, _wire = probe(FakeBroker(TWO_REPLICAS, {request_class: lying_about_first(lie)}).answer)
    assert causes(rows) == [Cause.BAD_ANSWER, None]
    assert rows[0].error.endswith(found)
    assert rows[0].last_written_epoch is None


def test_error_in_an_answer_requested_ahead_is_reported(probe: Probe) -> None:
    broker = FakeBroker(TWO_REPLICAS)
    ahead = 7  # the first question is about epoch 8, and its answer leads to 5

    def answer(request: Any) -> Any:
        response = broker.answer(request)
        if isinstance(request, FetchRequest):
            asked = {each.partition: each.last_fetched_epoch for each in request.topics[0].partitions}
            if asked.get(FIRST.partition) == ahead:
                lying_about_first(changing(error_code=56, diverging_epoch=None))(response)
        return response

    rows, _wire = probe(answer)
    assert causes(rows) == [Cause.LOG_DIR_OFFLINE, None]


def test_a_log_that_starts_beyond_its_end_is_a_bad_answer(probe: Probe) -> None:
    cache = FakeEpochCache([], 0, 100)
    cache.log_start_offset = 101
    rows, _wire = probe(FakeBroker({**TWO_REPLICAS, FIRST: FakeReplica(cache)}).answer)
    assert causes(rows) == [Cause.BAD_ANSWER, None]
    assert rows[0].error == "log start offset 101 lies beyond log end offset 100"
    assert rows[0].log_start_offset is None


@pytest.mark.parametrize(("epoch", "end_offset"), [(10, 100), (2, -1)], ids=["above the question", "before the log"])
def test_an_epoch_that_no_log_can_have_is_a_bad_answer(probe: Probe, epoch: int, end_offset: int) -> None:
    def lie(response: Any) -> None:
        for each in response.responses[0].partitions:
            if each.partition_index == FIRST.partition:
                each.error_code = 0
                each.diverging_epoch = each.EpochEndOffset(epoch=epoch, end_offset=end_offset)

    rows, _wire = probe(FakeBroker(TWO_REPLICAS, {FetchRequest: lie}).answer)
    assert causes(rows) == [Cause.BAD_ANSWER, None]
    assert rows[0].error.endswith(f"the broker returned {end_offset} as the end of epoch {epoch}")
    assert rows[0].lineage == ()


def test_a_future_replica_is_flagged_and_its_size_left_out(probe: Probe) -> None:
    rows, _wire = probe(FakeBroker({**TWO_REPLICAS, FIRST: a_replica((2, 0), has_future=True)}).answer)
    assert [(row.is_future, row.size_bytes) for row in rows] == [(True, 1000), (False, 1000)]


def test_a_replica_on_an_offline_log_dir_is_not_trusted(probe: Probe) -> None:
    replicas = {**TWO_REPLICAS, FIRST: a_replica((2, 0), log_dir="/bad")}
    rows, _wire = probe(FakeBroker(replicas, offline_log_dirs=("/bad",)).answer)
    assert causes(rows) == [Cause.LOG_DIR_OFFLINE, None]
    assert rows[0].error == "/bad: KAFKA_STORAGE_ERROR (error 56)"


def forbid_log_dirs(response: Any) -> None:
    response.error_code, response.results = 31, []


@pytest.mark.parametrize("distortion", [forbid_log_dirs, lambda response: response.results.clear()])
def test_without_describe_on_the_cluster_only_the_size_is_unknown(
    probe: Probe, distortion: Callable[[Any], None]
) -> None:
    rows, _wire = probe(FakeBroker(TWO_REPLICAS, {DescribeLogDirsRequest: distortion}).answer)
    assert [(row.cause, row.size_bytes, row.log_dir) for row in rows] == [(None, None, None)] * 2
