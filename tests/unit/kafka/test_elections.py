# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ElectLeaders with designated leaders, byte by byte: no released Kafka answers it."""

from __future__ import annotations

import struct

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.elections import (
    DESIGNATED,
    DesignatedElectLeadersRequest,
    DesignatedElectLeadersResponse,
    ElectionAnswer,
    election_answers,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition


def test_the_fields_come_in_the_order_of_the_proposal() -> None:
    """Compare with bytes that are written by hand: the simulator uses the definition of the code under test."""
    request = DesignatedElectLeadersRequest(
        election_type=DESIGNATED,
        topic_partitions=[
            DesignatedElectLeadersRequest.TopicPartitions(topic="orders", partitions=[4, 5], designated_leaders=[2, 3])
        ],
        timeout_ms=1000,
        version=3,
    )
    # A compact array or string has its length + 1; each structure ends with its number of tagged fields.
    partitions, leaders = struct.pack(">Bii", 3, 4, 5), struct.pack(">Bii", 3, 2, 3)
    assert bytes(request.encode()) == (
        b"\x02" + b"\x02" + b"\x07orders" + partitions + leaders + b"\x00" + struct.pack(">i", 1000) + b"\x00"
    )
    result = struct.pack(">ih", 4, 84) + b"\x06why??" + b"\x00"
    response = DesignatedElectLeadersResponse.decode(
        struct.pack(">ih", 0, 0) + b"\x02" + b"\x07orders" + b"\x02" + result + b"\x00\x00", version=3
    )
    assert election_answers(response) == {TopicPartition("orders", 4): ElectionAnswer(84, "why??")}
