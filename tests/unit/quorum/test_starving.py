# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fault that lets a controller lag: only the records are removed from answers to its Fetch requests."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from kafka.protocol.api_key import ApiKey
from kafka.protocol.consumer import FetchResponse

from lab.quorum import Starve
from lab.request import Request

VERSIONS = pytest.mark.parametrize("version", [13, 17, 18])


def _answered(version: int, client_id: str, responses: list[Any]) -> tuple[bytes, bytes]:
    """Return a controller's answer to a Fetch, and the bytes that the client receives."""
    answer = FetchResponse(version=version, throttle_time_ms=0, error_code=0, session_id=7, responses=responses)
    answer.with_header(correlation_id=9)
    frame = bytes(answer.encode(header=True, framed=True))
    request = Request(0.0, 101, ApiKey.Fetch, version, 9, client_id, b"")
    got = Starve((102, 103), pause_s=0.0).on_response(request, frame[4:])
    assert got is not None
    return frame, got


def _partition(records: bytes) -> list[Any]:
    topic = FetchResponse.FetchableTopicResponse
    data = topic.PartitionData(
        partition_index=0, error_code=0, high_watermark=5, log_start_offset=0, aborted_transactions=[], records=records
    )
    return [topic(topic_id=uuid.UUID(int=1), partitions=[data])]


@VERSIONS
@pytest.mark.parametrize("size", [0, 1, 126, 127, 300, 20_000])
def test_records_are_removed(version: int, size: int) -> None:
    _frame, got = _answered(version, "raft-client-103", _partition(b"r" * size))
    without, _same = _answered(version, "raft-client-101", _partition(b""))
    assert got == without


@VERSIONS
def test_answers_to_other_clients_are_unchanged(version: int) -> None:
    frame, got = _answered(version, "raft-client-101", _partition(b"records"))
    assert got == frame


@VERSIONS
def test_an_answer_with_an_error_is_unchanged(version: int) -> None:
    frame, got = _answered(version, "raft-client-103", [])
    assert got == frame
