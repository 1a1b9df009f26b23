# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run that was killed had requested an order twice, because the response to its first request was lost."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import Undoing, partition_subject
from unit.changes.test_doubt import FIRST, FORWARDED_FOR_S, all_online, undo
from unit.fakes.clock import FakeClock
from unit.fakes.journals import open_journal
from unit.fakes.wreck import CHANGED, Wreck


def test_an_order_that_a_dead_run_requested_twice_may_be_set_a_second_time(wreck: Wreck, clock: FakeClock) -> None:
    """Its first request is still held by another broker. The second one was executed, and this run undoes it."""
    wreck.leave_changed_orders()
    all_online(wreck)
    with open_journal(wreck.cluster) as journal:
        journal.note_lost_response([partition_subject(FIRST)], 0.0)
    wreck.cluster.will_reorder([FIRST], CHANGED, 40)
    undone = undo(wreck)
    assert {each.undoing for each in undone.values()} == {Undoing.RESTORED}
    assert clock.now >= FORWARDED_FOR_S
    wreck.assert_orders_are_restored()


def test_an_order_that_a_dead_run_requested_once_is_not_watched(wreck: Wreck, clock: FakeClock) -> None:
    wreck.leave_changed_orders()
    all_online(wreck)
    undo(wreck)
    assert clock.now < FORWARDED_FOR_S
    wreck.assert_orders_are_restored()
