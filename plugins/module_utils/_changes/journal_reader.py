# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the pending changes of the journal without its lock. ``cluster_journal`` opens the journal for writing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from .._kafka.base_port import BaseKafka
from .._kafka.cluster import Cluster
from .._model.partition import Broker
from .own_topic import FirstRecordsDeletedError
from .record import Change
from .run_state import RunState
from .run_topic import RUN_TOPIC, RunTopics
from .topic_by_name import TopicOfflineError, TopicUnavailableError


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalOptions:
    """The operator's options of the journal."""

    topic: str = RUN_TOPIC
    discard_lost: bool = False
    """Give up what the journal of an earlier run has lost."""


@dataclass(frozen=True, slots=True)
class Pending:
    """The pending changes of a journal, with notes for the operator."""

    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    is_unknown: bool = False
    """The journal could not be read. A note says why."""


@dataclass(frozen=True, slots=True)
class JournalReader:
    """Read the journal of one cluster."""

    kafka: BaseKafka
    cluster: Cluster
    options: JournalOptions
    brokers: Collection[Broker] = ()
    """Their present states. If empty, all unfenced brokers count as living."""

    def read(self) -> Pending:
        """Return the pending changes of all modules. Does not wait, takes no lock and creates nothing.

        Raises JournalError or NoBrokerAnswersError.
        """
        try:
            state = self.topics.read()
        except (TopicUnavailableError, FirstRecordsDeletedError) as error:
            note = f"whether changes of an earlier run are pending is unknown: {error}"
            return Pending(notes=(note,), is_unknown=True)
        except TopicOfflineError as error:
            note = f"the journal cannot be read: {error}. The next run that writes recovers it first"
            return Pending(notes=(note,), is_unknown=True)
        return Pending() if state is None else Pending((*state.pending.values(),), _holder_notes(state))

    @property
    def topics(self) -> RunTopics:
        """The run topic, which has the journal and the lock."""
        return RunTopics(self.kafka, self.cluster.living(self.brokers), self.cluster.addresses, self.options.topic)


def _holder_notes(state: RunState) -> tuple[str, ...]:
    """Return a note that names the holder, unless the lock is free."""
    if state.holder is None or state.has_left:
        return ()
    return (f"the lock (topic {state.topic}) is held by a run that is in progress or has died: {state.holder}",)
