# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The messages that kafka-python does not have are encoded as Kafka's own definitions say."""

from __future__ import annotations

import uuid

import pytest
from kafka.protocol.api_header import ResponseClassRegistry

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.messages import parse_uuid, uuid_text
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.raft_voters import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
)

DIRECTORY = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")


def test_add_raft_voter() -> None:
    listener = AddRaftVoterRequest.Listener(name="C", host="h", port=40000)
    request = AddRaftVoterRequest(
        cluster_id="x",
        timeout_ms=1,
        voter_id=104,
        voter_directory_id=DIRECTORY,
        listeners=[listener],
        ack_when_committed=True,
    )
    body = b"\x02x" + b"\x00\x00\x00\x01" + b"\x00\x00\x00\x68" + DIRECTORY.bytes + b"\x02\x02C\x02h\x9c\x40\x00"
    assert bytes(request.encode(version=0)) == body + b"\x00"
    assert bytes(request.encode(version=1)) == body + b"\x01\x00"


def test_remove_raft_voter() -> None:
    request = RemoveRaftVoterRequest(cluster_id=None, voter_id=104, voter_directory_id=DIRECTORY)
    assert bytes(request.encode(version=0)) == b"\x00" + b"\x00\x00\x00\x68" + DIRECTORY.bytes + b"\x00"
    assert (RemoveRaftVoterRequest.API_KEY, RemoveRaftVoterRequest.max_version) == (81, 0)


def test_kafka_python_decodes_the_answers() -> None:
    request = AddRaftVoterRequest(version=1)
    request.with_header(correlation_id=1)
    answer = ResponseClassRegistry.get_response_class(request.header)
    decoded = answer.decode(b"\x00\x00\x00\x00\x00\x7e\x03no\x00")
    assert (decoded.error_code, decoded.error_message) == (126, "no")
    assert AddRaftVoterResponse.API_KEY == 80


def test_uuids_have_kafkas_text_form() -> None:
    assert uuid_text(DIRECTORY) == "ABEiM0RVZneImaq7zN3u_w"
    assert parse_uuid("ABEiM0RVZneImaq7zN3u_w") == DIRECTORY


@pytest.mark.parametrize(
    "text", ["", "x", "ABEiM0RVZneImaq7zN3u_", "ABEiM0RVZneImaq7zN3u/w", "ABEiM0RVZneImaq7zN3u_wAA", "é" * 22]
)
def test_an_invalid_uuid_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a Uuid"):
        parse_uuid(text)
