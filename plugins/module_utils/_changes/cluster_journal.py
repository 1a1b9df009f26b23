# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Take the lock of a cluster and open its journal for writing.

Both are in the cluster only, in the run topic. Without the topic, nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .._kafka.port import Kafka
from .._model.run import NullProgress, Progress
from .journal import Journal
from .journal_reader import JournalReader
from .journal_recovery import discard_cut_journal, recover_run_topic
from .own_topic import FirstRecordsDeletedError
from .run_state import new_holder
from .run_topic import TopicLog
from .stop_tickets import ticket_notes
from .topic_by_name import TopicOfflineError


@dataclass(frozen=True, slots=True)
class ClusterJournal(JournalReader):
    """Read or open the journal of one cluster."""

    kafka: Kafka

    @contextmanager
    def open(self, progress: Progress | None = None) -> Iterator[Journal]:
        """Take the lock of the cluster and open the journal for writing. Not for check mode.

        At the end, the journal is removed if no change is pending, and ``Journal.notes`` is complete. They name the
        brokers that somebody is stopping.

        Raises JournalError or a subclass: another run holds the lock, or the topic cannot be used.
        """
        log = self._acquire(progress or NullProgress())
        journal = Journal(log, log.state.pending.values(), log.state.doubted)
        journal.notes += log.notes
        try:
            journal.notes += ticket_notes(self.kafka, self.cluster.living(self.brokers))
            yield journal
        finally:
            log.close(is_settled=not journal.pending)
            journal.notes += [each for each in log.notes if each not in journal.notes]

    def _acquire(self, progress: Progress) -> TopicLog:
        holder, topics = new_holder(), self.topics
        try:
            return topics.acquire(holder, progress)
        except TopicOfflineError as error:
            progress.step("recovering the journal of an earlier run")
            note = recover_run_topic(
                self.kafka, topics, error.state, self.cluster, self.brokers, discard_lost=self.options.discard_lost
            )
        except FirstRecordsDeletedError as error:
            note = discard_cut_journal(topics, error, discard_lost=self.options.discard_lost)
        log = topics.acquire(holder, progress)
        log.notes.append(note)
        return log
