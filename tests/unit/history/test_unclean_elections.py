# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the disk of a broker that is down may hold records that another leader lacks."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.events import EventReader, make_history
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.reading import ReadHistory
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.unclean_elections import (
    UncleanQuestion,
    left_at_ms,
    was_unclean_since,
    with_unclean_elections,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.messages import uuid_text
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.metadata_log import MetadataBatch
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.metadata_history import (
    BrokerChange,
    BrokerMoment,
    MetadataHistory,
    PartitionHistory,
    PartitionMoment,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Broker,
    BrokerState,
    TopicPartition,
)

ORDERS = TopicPartition("orders", 0)
REGISTERED, UNFENCED, FENCED = BrokerChange.REGISTERED, BrokerChange.UNFENCED, BrokerChange.FENCED


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ([], None),
        ([(1, REGISTERED), (2, UNFENCED)], None),
        ([(1, REGISTERED), (2, UNFENCED), (3, FENCED)], 3),
        ([(2, FENCED), (3, UNFENCED), (4, FENCED), (5, FENCED)], 4),
        ([(3, FENCED), (4, REGISTERED)], 3),
        ([(3, BrokerChange.LOG_DIR_FAILED)], 3),
        ([(3, BrokerChange.UNREGISTERED)], 3),
    ],
)
def test_since_when_a_broker_is_away(changes: Sequence[tuple[int, BrokerChange]], left: int | None) -> None:
    history = MetadataHistory(1, 9, brokers={1: tuple(BrokerMoment(at, change, 0) for at, change in changes)})
    assert left_at_ms(history, 1) == left


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param([], False, id="no change"),
        pytest.param([(6, True)], True, id="after it left"),
        pytest.param([(5, True)], True, id="by the record that says that it left"),
        pytest.param([(3, True), (4, False)], False, id="before it left, and the leader has recovered"),
        pytest.param([(3, True)], True, id="the leader was still recovering: the next unclean election has no mark"),
        pytest.param([(6, True), (7, False)], True, id="the leader has recovered since"),
    ],
)
def test_which_elections_count(changes: Sequence[tuple[int, bool]], *, expected: bool) -> None:
    moments = tuple(PartitionMoment(at, 2, (2,), is_unclean=unclean) for at, unclean in changes)
    history = MetadataHistory(1, 9, {ORDERS: PartitionHistory(moments)})
    assert was_unclean_since(history, ORDERS, 5) == expected


LEFT = {1: (BrokerMoment(5, FENCED, 0),)}
WELL = PartitionHistory((PartitionMoment(2, 1, (1,)),))
UNCLEAN = PartitionHistory((PartitionMoment(2, 1, (1,)), PartitionMoment(6, 2, (2,), is_unclean=True)))


@pytest.mark.parametrize(
    ("read", "count", "missing"),
    [
        (ReadHistory(None, "", "no controller answers"), None, "no controller answers"),
        (ReadHistory(MetadataHistory(1, 9, {ORDERS: WELL}, brokers=LEFT), "it"), 0, ""),
        (ReadHistory(MetadataHistory(1, 9, {ORDERS: UNCLEAN}, brokers=LEFT), "it"), 1, ""),
        # What was found is known, whatever else is missing.
        (ReadHistory(MetadataHistory(1, 9, {ORDERS: UNCLEAN}), "it", "read to 7 only", is_copy=True), 1, ""),
        (ReadHistory(MetadataHistory(1, 9, {ORDERS: WELL}), "it", "read to 7 only"), None, "read to 7 only"),
        (
            ReadHistory(MetadataHistory(1, 9, {ORDERS: WELL}), "it"),
            None,
            "the metadata log does not say since when broker 1 did not run",
        ),
        (
            ReadHistory(MetadataHistory(1, 9, {ORDERS: WELL}, brokers=LEFT), "the copy", is_copy=True),
            None,
            "the copy does not say which of its records are committed",
        ),
        (
            ReadHistory(MetadataHistory(1, 9, {ORDERS: WELL}, brokers=LEFT, not_decoded=1), "it"),
            None,
            "1 record of the metadata log could not be decoded",
        ),
        (
            ReadHistory(MetadataHistory(1, 9, {ORDERS: WELL}, brokers=LEFT, disordered_until_ms=6), "it"),
            None,
            "the clocks of the controllers that wrote the metadata log differ",
        ),
    ],
)
def test_an_unknown_number_names_what_is_missing(read: ReadHistory, count: int | None, missing: str) -> None:
    broker = Broker(1, None, None, None, is_fenced=True, state=BrokerState.FENCED)
    found = with_unclean_elections(broker, read, [ORDERS])
    assert (found.unclean_elections, found.unclean_elections_missing) == (count, missing)


def test_only_changes_of_the_recovery_state_are_decoded() -> None:
    topic = uuid.UUID(int=7)

    def change(*fields: bytes) -> bytes:
        head = b"\x01\x05\x00" + (0).to_bytes(4, "big") + topic.bytes
        return head + bytes((len(fields),)) + b"".join(fields)

    leader, recovering, recovered = b"\x01\x04\x00\x00\x00\x02", b"\x05\x01\x01", b"\x05\x01\x00"
    # Broker 1281 has the bytes that a change of the recovery state has.
    looks_alike = b"\x01\x04\x00\x00\x05\x01"
    reader = UncleanQuestion({ORDERS: uuid_text(topic)}, [1]).reader()
    assert isinstance(reader, EventReader)
    values = (change(leader), change(looks_alike), change(leader, recovering), change(recovered))
    events = reader.events([MetadataBatch(0, 4, 17, values)])
    moments = make_history(events, 1, 9).partitions[ORDERS].moments
    assert [each.is_unclean for each in moments] == [True, False]
