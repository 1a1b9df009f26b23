# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The journal of a cluster in memory, opened as a run opens it, and read without its lock."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import Change, in_undo_order
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_state import new_holder
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC, RunTopics
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.base_port import BaseKafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from unit.fakes.clock import FakeClock

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
_ADDRESSES = {each: Address(f"broker-{each}.invalid", 9092) for each in (3, 2, 1)}


@contextmanager
def open_journal(kafka: BaseKafka) -> Iterator[Journal]:
    """Take the lock, and return the journal. What is pending at the end stays, as after a run that was killed."""
    log = RunTopics(kafka, _ADDRESSES, _ADDRESSES, RUN_TOPIC).acquire(new_holder(), NullProgress())
    journal = Journal(log, log.state.pending.values(), log.state.doubted)
    try:
        yield journal
    finally:
        log.close(is_settled=not journal.pending)


class FakeDoubtNotes(Journal):
    """A journal whose lock is held, and that only collects what is in doubt, with the time until which it is."""

    def __init__(self) -> None:
        self.until: dict[str, float] = {}

    def require_lock(self) -> None:
        pass

    def note_lost_response(self, subjects: Iterable[str], until: float) -> None:
        self.until |= dict.fromkeys(subjects, until)


def read_pending(kafka: BaseKafka) -> tuple[Change, ...]:
    """Return the pending changes of the journal, in the order in which they are undone."""
    state = RunTopics(kafka, _ADDRESSES, _ADDRESSES, RUN_TOPIC).read()
    return in_undo_order(state.pending.values()) if state is not None else ()


def renew_while_others_wait(journal: Journal, clock: FakeClock) -> None:
    """Let the holder of a lock check it whenever another run waits, as it does before each write."""
    sleep = clock.sleep

    def sleep_and_renew(seconds: float) -> None:
        sleep(seconds)
        journal.require_lock()

    clock.sleep = sleep_and_renew  # type: ignore[method-assign]


def let_heartbeats_through(clock: FakeClock) -> None:
    """Make each wait take a moment, in which another run's thread writes its heartbeat."""
    sleep = clock.sleep

    def sleep_a_moment(seconds: float) -> None:
        sleep(seconds)
        time.sleep(0.05)

    clock.sleep = sleep_a_moment  # type: ignore[method-assign]
