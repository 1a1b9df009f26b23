# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the pending changes of the journal without its lock. ``home`` opens the journal for writing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from .._kafka.base_port import BaseKafka
from .._kafka.cluster import Cluster
from .._model.partition import Broker
from .file_log import JOURNAL, default_directory, path_for, read_entries
from .journal import pending_changes
from .own_topic import TopicOfflineError, TopicUnavailableError
from .record import Change
from .run_state import RunState
from .run_topic import RunTopics

RUN_TOPIC = "_kafkaops_run"


class Home(StrEnum):
    """The place of the journal."""

    AUTO = "auto"
    """The topic; or a file, if the topic cannot be used and the file outlives this run."""
    TOPIC = "topic"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalOptions:
    """The operator's options of the journal."""

    home: Home = Home.AUTO
    topic: str = RUN_TOPIC
    directory: str = ""
    """The directory of the file; empty for the default below the user's home."""
    discard_lost: bool = False
    """Give up what the journal of an earlier run has lost."""

    @property
    def path(self) -> str:
        """The directory of the file."""
        return self.directory or default_directory()


@dataclass(frozen=True, slots=True)
class Pending:
    """The pending changes of a journal, with notes for the operator."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()


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
        in_file = pending_changes(*self._file_entries())
        if self.options.home is Home.FILE:
            return Pending(in_file)
        try:
            state = self._topics.read()
        except TopicUnavailableError:
            return Pending(in_file)
        except TopicOfflineError as error:
            return Pending(
                in_file, (f"the journal cannot be read: {error}. The next run that writes recovers it first",)
            )
        if state is None:
            return Pending(in_file)
        return Pending((*state.pending.values(), *in_file), holder_notes(state))

    @property
    def _path(self) -> Path:
        return path_for(self.options.path, self.cluster.cluster_id, JOURNAL)

    @property
    def _topics(self) -> RunTopics:
        living = self.cluster.living(self.brokers)
        return RunTopics(self.kafka, living, self.cluster.addresses, self.options.topic)

    def _file_entries(self) -> tuple[list[dict[str, object]], str]:
        return read_entries(self._path)[0], f"the journal {self._path}"


def holder_notes(state: RunState) -> tuple[str, ...]:
    """Return a note that names the holder, unless the lock is free."""
    if state.holder is None or state.has_left:
        return ()
    return (f"the lock (topic {state.topic}) is held by a run that is in progress or has died: {state.holder}",)
