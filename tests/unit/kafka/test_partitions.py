# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Descriptions of partitions: all pages of one broker, in order, and the refused topics."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.admin import DescribeTopicPartitionsResponse

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import partitions as pages
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.bulk import BulkAnswer, UnusualAnswerError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.messages import uuid_text
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import (
    PAGE_SIZE,
    Description,
    TopicError,
    describe_partitions,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Cause,
    PartitionState,
    TopicPartition,
)
from unit.kafka.fake_wire import FakeWire

TOPIC_ID = uuid.UUID("12345678-9abc-def0-1234-56789abcdef0")
TOPIC_ID_TEXT = "EjRWeJq83vASNFZ4mrze8A"


def describe(wire: FakeWire, topics: Sequence[str] | None = None) -> Description:
    stand_in: Any = wire
    real: Wire = stand_in
    return describe_partitions(real, topics)


def a_partition(number: int, **values: Any) -> Any:
    defaults: dict[str, Any] = {
        "error_code": 0,
        "partition_index": number,
        "leader_id": -1,
        "leader_epoch": 7,
        "replica_nodes": [3, 1, 2],
        "isr_nodes": [1],
        "eligible_leader_replicas": [],
        "last_known_elr": [2],
        "offline_replicas": [1, 2],
    }
    message = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
    return message.DescribeTopicPartitionsResponsePartition(**defaults | values)


def a_topic(
    name: str,
    partitions: Sequence[Any] = (),
    error_code: int = 0,
    *,
    is_internal: bool = False,
    topic_id: uuid.UUID = TOPIC_ID,
) -> Any:
    return DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic(
        error_code=error_code, name=name, topic_id=topic_id, is_internal=is_internal, partitions=list(partitions)
    )


def a_page(*topics: Any, cursor: tuple[str, int] | None = None) -> Any:
    message = DescribeTopicPartitionsResponse
    following = message.Cursor(topic_name=cursor[0], partition_index=cursor[1]) if cursor else None
    return message(topics=list(topics), next_cursor=following)


class FakePager:
    """Return pages as Kafka does: named or all topics, in order from the cursor on, at most ``page_size`` each."""

    def __init__(self, topics: dict[str, int], page_size: int) -> None:
        self._topics = topics
        self._page_size = page_size

    def __call__(self, request: Any) -> Any:
        names = [topic.name for topic in request.topics] or sorted(self._topics)
        assert names == sorted(names)
        cursor = request.cursor
        start = (cursor.topic_name, cursor.partition_index) if cursor else ("", 0)
        places = [
            (name, number) for name in names for number in range(self._topics.get(name, 0)) if (name, number) >= start
        ]
        size = min(self._page_size, request.response_partition_limit)
        now, later = places[:size], places[size:]
        reported = {name: [a_partition(number) for topic, number in now if topic == name] for name in dict(now)}
        unknown = [a_topic(name, error_code=3) for name in names if name not in self._topics and name >= start[0]]
        return a_page(*(a_topic(*each) for each in reported.items()), *unknown, cursor=later[0] if later else None)


def test_a_partition_is_reported_as_the_broker_has_it() -> None:
    page = a_page(a_topic("orders", [a_partition(0)], is_internal=True))
    assert describe(FakeWire(lambda _request: page)) == Description(
        (PartitionState("orders", 0, TOPIC_ID_TEXT, -1, 7, (3, 1, 2), (1,), (), (2,), (1, 2), is_internal=True),),
        (),
    )


def test_elr_that_the_broker_does_not_return_is_none() -> None:
    page = a_page(a_topic("orders", [a_partition(0, eligible_leader_replicas=None, last_known_elr=None)]))
    (state,) = describe(FakeWire(lambda _request: page)).partitions
    assert (state.elr, state.last_known_elr) == (None, None)


def test_the_topic_of_the_tier_is_internal_although_brokers_do_not_say_so() -> None:
    """Without its records, nobody finds the segments in the tier."""
    page = a_page(a_topic("__remote_log_metadata", [a_partition(0)], is_internal=False))
    (converted,) = describe(FakeWire(lambda _request: page)).partitions
    read = pages._read_answer(memoryview(page.encode(version=0))).value
    assert [converted.is_internal, *(each.is_internal for each in read.states)] == [True, True]


INT32 = st.integers(-(2**31), 2**31 - 1)
LISTS = st.lists(INT32, max_size=5)
PARTITIONS = st.fixed_dictionaries(
    {
        "number": INT32,
        "error_code": st.integers(-1, 100),
        "leader_id": INT32,
        "leader_epoch": INT32,
        "replica_nodes": LISTS,
        "isr_nodes": LISTS,
        "eligible_leader_replicas": st.none() | LISTS,
        "last_known_elr": st.none() | LISTS,
        "offline_replicas": LISTS,
    }
)
TOPICS = st.lists(
    st.tuples(
        st.text(max_size=200),
        st.lists(PARTITIONS, max_size=10),
        st.sampled_from([0, 0, 3, 29]),
        st.uuids(),
        st.booleans(),
    ),
    max_size=4,
)


@given(TOPICS, st.none() | st.tuples(st.text(max_size=10), INT32), INT32)
def test_a_page_is_read_as_the_schema_reads_it(
    topics: list[Any], cursor: tuple[str, int] | None, throttle: int
) -> None:
    page = a_page(
        *(
            a_topic(
                name, [a_partition(**each) for each in partitions], code, is_internal=is_internal, topic_id=topic_id
            )
            for name, partitions, code, topic_id, is_internal in topics
        ),
        cursor=cursor,
    )
    page.throttle_time_ms = throttle
    encoded = page.encode(version=0)
    expected = pages._convert_answer(DescribeTopicPartitionsResponse.decode(encoded, version=0))
    assert pages._read_answer(memoryview(encoded)) == BulkAnswer(throttle, expected)


@pytest.mark.parametrize("replicas", [126, 127, 300])
def test_long_list_is_decoded_by_kafka_python(replicas: int) -> None:
    page = a_page(a_topic("orders", [a_partition(0, replica_nodes=[*range(replicas)]), a_partition(1)]))
    first, second = describe(FakeWire(lambda _request: page)).partitions
    assert (first.replicas, second.replicas) == (tuple(range(replicas)), (3, 1, 2))


@pytest.mark.parametrize("place", [-1, -3, -8], ids=["of the answer", "of the topic", "of the partition"])
def test_tagged_fields_are_decoded_by_kafka_python(place: int) -> None:
    encoded = bytearray(a_page(a_topic("orders", [a_partition(0)])).encode(version=0))
    encoded[place] = 1
    with pytest.raises(UnusualAnswerError):
        pages._read_answer(memoryview(encoded))


names = st.sampled_from(["a", "a-b", "a.b", "b", "B", "__c"])


@given(st.dictionaries(names, st.integers(1, 5)), st.integers(1, 4), st.none() | st.sets(names, min_size=1))
def test_all_pages_are_returned(topics: dict[str, int], page_size: int, wanted: set[str] | None) -> None:
    wire = FakeWire(FakePager(topics, page_size))
    found = describe(wire, list(wanted) if wanted is not None else None)
    chosen = sorted(topics.keys() & wanted if wanted is not None else topics)
    assert [(each.topic, each.partition) for each in found.partitions] == [
        (name, number) for name in chosen for number in range(topics[name])
    ]
    assert [each.topic for each in found.refused] == sorted((wanted or set()) - topics.keys())
    assert {each.response_partition_limit for each in wire.requests} == {PAGE_SIZE}


@given(st.integers(0, 30), st.integers(1, 30), st.integers(1, 40))
def test_no_partition_after_the_last_requested_one_is_read(first: int, count: int, page_size: int) -> None:
    wire = FakeWire(FakePager({"a": 3, "orders": 40, "z": 3}, page_size))
    stand_in: Any = wire
    span = (TopicPartition("orders", first), TopicPartition("orders", first + count - 1))
    found = describe_partitions(stand_in, ["orders"], span)
    wanted = [*range(first, min(first + count, 40))]
    assert [each.partition for each in found.partitions][: len(wanted)] == wanted
    assert wire.requests[0].response_partition_limit == count
    if count <= page_size:
        assert [each.partition for each in found.partitions] == wanted
        assert len(wire.requests) == 1


def test_no_topics_are_not_all_topics() -> None:
    wire = FakeWire(FakePager({"orders": 1}, 1))
    assert describe(wire, []) == Description((), ())
    assert wire.requests == []


@pytest.mark.parametrize("cursor", [("orders", 1), ("orders", 0), ("accounts", 5)])
def test_pages_that_do_not_advance_are_a_bad_answer(cursor: tuple[str, int]) -> None:
    pages = iter([a_page(a_topic("orders", [a_partition(0)]), cursor=("orders", 1)), a_page(cursor=cursor)])
    with pytest.raises(BrokerCallError) as caught:
        describe(FakeWire(lambda _request: next(pages)))
    assert caught.value.cause is Cause.BAD_ANSWER
    assert "its pages do not advance beyond ('orders', 1)" in str(caught.value)


def test_refused_topics_are_distinguished_and_the_rest_goes_on() -> None:
    page = a_page(
        a_topic("absent", error_code=3), a_topic("hidden", error_code=29), a_topic("orders", [a_partition(0)])
    )
    found = describe(FakeWire(lambda _request: page), ["orders", "hidden", "absent"])
    assert [each.topic for each in found.partitions] == ["orders"]
    assert found.refused == (TopicError("absent", 3), TopicError("hidden", 29))
    assert [each.is_unauthorized for each in found.refused] == [False, True]
    assert str(found.refused[1]) == "TOPIC_AUTHORIZATION_FAILED (error 29) (our principal needs DESCRIBE on the topic)"


@given(st.uuids())
def test_a_topic_id_has_kafkas_text_form(topic_id: uuid.UUID) -> None:
    text = uuid_text(topic_id)
    assert len(text) == 22
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    assert uuid_text(TOPIC_ID) == TOPIC_ID_TEXT
