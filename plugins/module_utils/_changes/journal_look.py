# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the journal is kept, and what is pending in it, for whoever only looks. ``home`` opens it to be written."""

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
    """Where to keep the journal."""

    AUTO = "auto"
    """In the topic, or in a file where the topic cannot be used and the file is not lost with a container."""
    TOPIC = "topic"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalOptions:
    """Where the journal is kept, as the operator says."""

    home: Home = Home.AUTO
    topic: str = RUN_TOPIC
    directory: str = ""
    """Of the file; empty for the default, which is below the user's home."""
    discard_lost: bool = False
    """Give up an earlier run's journal of which no replica is left."""

    @property
    def path(self) -> str:
        """The directory of the file."""
        return self.directory or default_directory()


@dataclass(frozen=True, slots=True)
class Pending:
    """What a look at the journal shows."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JournalReader:
    """The journal of one cluster, to be read."""

    kafka: BaseKafka
    cluster: Cluster
    options: JournalOptions
    brokers: Collection[Broker] = ()
    """As they were just seen; empty where nobody looked, then every unfenced one is taken for living."""

    def read(self) -> Pending:
        """Return the pending changes of every module. Waits for nobody, takes no lock and creates nothing.

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
            return Pending(in_file, (f"the journal, {error}; a run that writes recovers it first",))
        if state is None:
            return Pending(in_file)
        return Pending((*state.pending.values(), *in_file), holder_notes(state))

    @property
    def _path(self) -> Path:
        return path_for(self.options.path, self.cluster.cluster_id, JOURNAL)

    @property
    def _topics(self) -> RunTopics:
        addresses = {each.broker_id: each.address for each in self.cluster.registrations}
        return RunTopics(self.kafka, self.cluster.living(self.brokers), addresses, self.options.topic)

    def _file_entries(self) -> tuple[list[dict[str, object]], str]:
        return read_entries(self._path)[0], f"the journal {self._path}"


def holder_notes(state: RunState) -> tuple[str, ...]:
    """Return who holds the topic, where that is not plain."""
    if state.holder is None or state.has_left:
        return ()
    return (f"topic {state.topic} is held by a run that is in progress or died: {state.holder}",)
