# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What runs of log_cleaner and log_cleaner_repair share: the brokers, writers, and under the lock also the journal.

And what both return of the changes that an earlier run left.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .._changes.home import JournalHome
from .._changes.journal import Journal
from .._changes.orders import Writer
from .._changes.record import RESTORING, AnyLeftover, Undoing
from .._changes.rollback import Rollback, preview_undo
from .._changes.setting_writer import SettingWriter
from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import Broker, BrokerState
from .._model.run import Progress
from .._module.options import journal_options, progress_to
from . import inspection
from .replica import ReplicaMaker

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class CleanerRun:
    """What a run works with once the brokers were seen."""

    kafka: Kafka
    params: Mapping[str, Any]
    stop: threading.Event
    cluster: Cluster
    wanted: tuple[Broker, ...]
    """The brokers that are named, or all."""
    living: dict[int, Address]
    everyone: tuple[Broker, ...]
    settings: SettingWriter
    progress: Progress

    @classmethod
    def begin(cls, kafka: Kafka, params: Mapping[str, Any], stop: threading.Event) -> CleanerRun:
        """Look at the brokers. Raises KafkaOpsError, also for a named broker that the cluster does not have."""
        progress = progress_to(params["progress_file"])
        progress.step("looking at the brokers")
        cluster, everyone = inspection.find_brokers(kafka, ())
        named = set(params["brokers"])
        if named:
            inspection.refuse_unknown(everyone, named)
        alive = living_addresses(cluster, everyone)
        settings = SettingWriter(kafka, alive, params["attempts"], params["verify_timeout_ms"] / 1000)
        wanted = tuple(each for each in everyone if not named or each.broker_id in named)
        return cls(kafka, params, stop, cluster, wanted, alive, tuple(everyone), settings, progress)

    def preview_leftovers(self) -> tuple[AnyLeftover, ...]:
        """Return what a rollback would do about what an earlier run left. Writes nothing."""
        return preview_undo(self.kafka, self.settings, self._home.read().changes)

    @contextmanager
    def locked(self) -> Iterator[LockedRun]:
        """Hold the lock, and yield what writes under it. Raises JournalError."""
        with self._home.open(self.progress) as journal:
            writer = Writer(
                self.kafka, [*self.living.values()], self.settings.attempts, self.settings.verify_timeout_s
            ).with_journal(journal)
            timeout_s = self.params.get("repair_timeout_ms", self.params["verify_timeout_ms"]) / 1000
            rollback = Rollback.of(
                writer, self.living, journal, progress=self.progress, stop=self.stop, timeout_s=timeout_s
            )
            yield LockedRun(replace(self, settings=self.settings.with_journal(journal)), journal, writer, rollback)

    @property
    def _home(self) -> JournalHome:
        return JournalHome(self.kafka, self.cluster, journal_options(self.params), self.everyone)


@dataclass(frozen=True, slots=True)
class LockedRun:
    """A run that holds the lock."""

    run: CleanerRun
    journal: Journal
    writer: Writer
    """Of replica orders and sets."""
    rollback: Rollback

    @property
    def maker(self) -> ReplicaMaker:
        """Return what drops and re-creates replicas."""
        run = self.run
        timeout_s = run.params["repair_timeout_ms"] / 1000
        return ReplicaMaker(self.writer, run.living, self.journal, timeout_s, run.stop, run.progress)


def living_addresses(cluster: Cluster, brokers: Iterable[Broker]) -> dict[int, Any]:
    """Addresses of the brokers that are online, by their ids."""
    online = {each.broker_id for each in brokers if each.state is BrokerState.ONLINE}
    return {each.broker_id: each.address for each in cluster.registrations if each.broker_id in online}


def leftover_results(leftovers: Iterable[AnyLeftover]) -> list[dict[str, str]]:
    """Return what earlier runs left, as modules return it."""
    return [{"change": str(each.change), "undoing": each.undoing.value, "reason": each.reason} for each in leftovers]


def failure_message(faults: Sequence[str], leftovers: Iterable[AnyLeftover]) -> str:
    """Return why the module fails, one reason a line; empty when it does not."""
    stuck = [
        f"an earlier run left {each.change}: {each.reason}" for each in leftovers if each.undoing is Undoing.FAILED
    ]
    return "\n".join([*faults, *stuck])


def conflict_warnings(notes: Sequence[str], leftovers: Iterable[AnyLeftover]) -> list[str]:
    """Return what a person should know of the journal, and of changes that nobody undoes any more."""
    return [*notes] + [f"{each.change}: {each.reason}" for each in leftovers if each.undoing is Undoing.CONFLICT]


def restored_diff(leftovers: Iterable[AnyLeftover], word: str) -> dict[str, str]:
    """Return what is put back of earlier runs, for one side of a diff."""
    return {str(each.change): word for each in leftovers if each.undoing in RESTORING}
