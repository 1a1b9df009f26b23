# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prepare runs of log_cleaner and log_cleaner_repair: the brokers, the writers and the locked journal."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from .._changes.cluster_journal import ClusterJournal
from .._changes.journal import Journal
from .._changes.record import AnyLeftover
from .._changes.rollback import Rollback, preview_undo
from .._changes.sender import Writer
from .._changes.setting_writer import SettingWriter
from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import Broker
from .._model.run import Progress
from .._module.options import journal_options, progress_to
from .inspection import select_brokers
from .replica import ReplicaMaker


@dataclass(frozen=True, slots=True)
class CleanerRun:
    """The brokers and writers of a run."""

    kafka: Kafka
    params: Mapping[str, Any]
    stop: threading.Event
    cluster: Cluster
    wanted: tuple[Broker, ...]
    """The named brokers, or all."""
    living: dict[int, Address]
    everyone: tuple[Broker, ...]
    settings: SettingWriter
    progress: Progress

    @classmethod
    def begin(cls, kafka: Kafka, params: Mapping[str, Any], stop: threading.Event) -> CleanerRun:
        """Read the states of the brokers. Raises KafkaOpsError, also for an unknown broker."""
        progress = progress_to(params["progress_file"])
        progress.step("looking at the brokers")
        cluster = kafka.describe_cluster()
        everyone = kafka.probe_brokers(cluster)
        wanted = select_brokers(everyone, params["brokers"])
        alive = cluster.online(everyone)
        writer = Writer(kafka, [*alive.values()], params["attempts"], params["verify_timeout_ms"] / 1000)
        settings = SettingWriter(writer, alive)
        return cls(kafka, params, stop, cluster, wanted, alive, everyone, settings, progress)

    def preview_leftovers(self) -> tuple[tuple[AnyLeftover, ...], tuple[str, ...]]:
        """Return what a rollback would do with the changes of earlier runs, and notes. Writes nothing."""
        pending = self._journal.read()
        return preview_undo(self.kafka, self.settings, pending.changes), pending.notes

    @contextmanager
    def locked(self) -> Iterator[LockedRun]:
        """Hold the lock during a ``with`` block. Raises JournalError."""
        with self._journal.open(self.progress) as journal:
            writer = self.settings.writer.with_journal(journal)
            timeout_s = self.params.get("repair_timeout_ms", self.params["verify_timeout_ms"]) / 1000
            rollback = Rollback.of(
                writer, self.living, journal, progress=self.progress, stop=self.stop, timeout_s=timeout_s
            )
            yield LockedRun(replace(self, settings=rollback.settings), journal, writer, rollback)

    @property
    def _journal(self) -> ClusterJournal:
        return ClusterJournal(self.kafka, self.cluster, journal_options(self.params), self.everyone)


@dataclass(frozen=True, slots=True)
class LockedRun:
    """A run that holds the lock."""

    run: CleanerRun
    journal: Journal
    writer: Writer
    """Writes replica orders and sets."""
    rollback: Rollback

    @property
    def maker(self) -> ReplicaMaker:
        """Return the maker that drops and re-creates replicas."""
        run = self.run
        timeout_s = run.params["repair_timeout_ms"] / 1000
        return ReplicaMaker(self.writer, run.living, self.journal, timeout_s, run.stop, run.progress)
