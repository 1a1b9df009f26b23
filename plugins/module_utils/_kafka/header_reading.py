# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read headers of batches for the searches in many logs of one broker together. No I/O: the caller sends requests."""

from __future__ import annotations

from collections.abc import Mapping

from .._model.partition import TopicPartition, in_batches, to_topic_partition
from .batch_headers import HeaderAnswer, Offsets, headers_request
from .header_search import HeaderSearch
from .lockstep import Exchange

_HEADER_BYTES = 4096
"""Larger batches are read one by one: most batches of a log that ends are small."""
_LARGE_AT_ONCE = 100
"""Large batches to read before the first answer arrives. A broker sends each one as a whole."""
_NO_HEADER = HeaderAnswer(0, None, 0)


def read_headers(reading: Mapping[TopicPartition, HeaderSearch]) -> Exchange[None]:
    """Carry out all searches, in rounds: each round reads the next offsets of all logs."""
    while rounds := _next_offsets(reading):
        answers = yield [headers_request(offsets, _HEADER_BYTES) for offsets in rounds]
        large: list[tuple[TopicPartition, int]] = []
        for offsets, found in zip(rounds, answers, strict=True):
            for topic, by_number in offsets.items():
                for number, offset in by_number.items():
                    each = to_topic_partition((topic, number))
                    answer = found.get(topic, {}).get(number, _NO_HEADER)
                    if answer.batch is None and not answer.error_code:
                        large.append((each, offset))
                    else:
                        reading[each].take_answer(offset, answer)
        for some in in_batches(large, _LARGE_AT_ONCE):
            answers = yield [headers_request({each.topic: {each.partition: offset}}, 1) for each, offset in some]
            for (each, offset), found in zip(some, answers, strict=True):
                reading[each].take_answer(offset, found.get(each.topic, {}).get(each.partition, _NO_HEADER))


def _next_offsets(reading: Mapping[TopicPartition, HeaderSearch]) -> list[Offsets]:
    """Return the next offsets of all searches, in requests that have each partition once."""
    requests: list[Offsets] = []
    for each, search in reading.items():
        for index, offset in enumerate(search.next_offsets()):
            if index == len(requests):
                requests.append({})
            requests[index].setdefault(each.topic, {})[each.partition] = offset
    return requests
