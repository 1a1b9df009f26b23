# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A ledger is completed by the records that were found in a topic."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.given_back import complete_ledger, find_given
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.ledger import Ledger
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.saved_run import (
    add_origin_headers,
    name_origin,
    read_origin,
    read_original_timestamp,
)
from unit.salvage.saved import runs


def test_records_of_the_same_place_and_time_are_settled() -> None:
    saved = runs(*({"offset": offset, "leader_epoch": 3, "timestamp_ms": 100 + offset} for offset in range(10, 16)))
    given = {(3, 10): 110, (3, 11): 111, (3, 13): 113, (3, 14): 7, (2, 15): 115, (3, 99): 199}
    found = find_given({saved[0].topic_partition: given}, saved)[saved[0].topic_partition]
    ledger = complete_ledger(Ledger((EpochRange(3, 5, 10), EpochRange(3, 13, 14)), given=6, superseded=1), found)
    assert ledger.settled == (EpochRange(3, 5, 12), EpochRange(3, 13, 14))
    assert (ledger.given, ledger.superseded) == (6, 1)
    assert complete_ledger(Ledger(), found).given == 3


def test_a_record_without_a_timestamp_is_not_found_where_nothing_was_given_back() -> None:
    saved = runs({"offset": 10, "leader_epoch": 3, "timestamp_ms": None})
    assert find_given({saved[0].topic_partition: {(3, 11): None}}, saved) == {saved[0].topic_partition: []}


@pytest.mark.parametrize("timestamp_ms", [112, 0, -1])
def test_what_a_replay_writes_is_found_again(timestamp_ms: int) -> None:
    """A record that an old producer wrote without a timestamp has -1."""
    (run,) = runs({"offset": 12, "leader_epoch": 3, "timestamp_ms": timestamp_ms})
    (headers,) = add_origin_headers("cluster", run)
    origin = name_origin("cluster", run.topic_partition)
    assert (read_origin(headers, origin), read_original_timestamp(headers)) == ((3, 12), timestamp_ms)
    (again,) = add_origin_headers("cluster", run._replace(offset=12, epoch=9))
    assert read_origin([*headers, *again], origin) == (9, 12)
    assert read_original_timestamp([("kafkaops.salvage.timestamp", b"no number")]) is None
    assert read_original_timestamp([]) is None
