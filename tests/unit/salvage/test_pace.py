# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The size of a replay's transactions follows how long they take."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.pace import MOST_BYTES, Pace


def test_quick_transactions_grow_to_the_limit() -> None:
    pace, sizes = Pace(), []
    while pace.next_bytes < MOST_BYTES:
        sizes.append(pace.next_bytes)
        pace.record(pace.next_bytes, 0.1)
    assert len(sizes) == 6
    pace.record(pace.next_bytes, 0.1)
    assert pace.next_bytes == MOST_BYTES


def test_a_slow_transaction_makes_the_next_ones_fit() -> None:
    pace = Pace(next_bytes=MOST_BYTES)
    pace.record(1_000_000, 20)
    assert pace.next_bytes == 250_000
    pace.record(1000, 50)
    assert pace.next_bytes == 32 * 1024, "never so small that the work of a transaction is all that is done"
