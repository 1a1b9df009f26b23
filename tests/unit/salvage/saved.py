# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was saved of one partition, for tests that need any."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.read_back import SavedRecords

SAVED = SavedRecords(
    topic="orders",
    partition=3,
    topic_id="id-1",
    ranges=(EpochRange(0, 100, 350),),
    records=250,
    bytes=5000,
    first_timestamp_ms=1,
    last_timestamp_ms=2,
    committed=0,
    aborted=0,
    unknown=0,
    committed_transactions=0,
    aborted_transactions=0,
    open_transactions=0,
    undecodable_batches=0,
    batches=3,
    largest_record_bytes=2_000_000,
    largest_batch_bytes=2_000_100,
)
