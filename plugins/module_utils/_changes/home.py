# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the journal is kept: in the run topic, or in a local file where that cannot be.

A file is no help where it is lost with the container that the run is in; so a run in a container does not write then.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .._kafka.errors import NoBrokerAnswersError
from .._kafka.port import Kafka
from .._model.run import NullProgress, Progress
from .file_log import FileLog, file_lock
from .journal import Journal, pending_of
from .journal_look import Home, JournalLook, JournalOptions, notes_of
from .offline_topic import JournalLostError, recover_topic
from .own_topic import TopicOfflineError, TopicUnavailableError
from .record import JournalError
from .run_state import this_run
from .run_topic import TopicLog

_CONTAINER_FILES = ("/run/.containerenv", "/.dockerenv")
_AWX_VARIABLE = "AWX_ISOLATED_DATA_DIR"
_PASSING_FILE_SYSTEMS = frozenset({"overlay", "tmpfs"})
_MOUNT_POINT = 4
"""Of a line of /proc/self/mountinfo (proc(5))."""


@dataclass(frozen=True, slots=True)
class JournalHome(JournalLook):
    """The journal of one cluster, to be read or opened."""

    kafka: Kafka

    @contextmanager
    def open(self, progress: Progress | None = None) -> Iterator[Journal]:
        """Take the lock of the cluster, and open the journal to be written. Not for check mode.

        When the journal is closed and nothing is pending, it is removed. ``Journal.notes`` is complete then.

        Raises JournalError or one of its subclasses: another run holds the lock, or there is no safe place for it.
        """
        note = ""
        if self.options.home is not Home.FILE:
            try:
                log = self._taken(progress or NullProgress())
            except TopicUnavailableError as error:
                note = self._why_a_file(str(error))
            else:
                with self._in_topic(log) as journal:
                    yield journal
                return
        else:
            self._refuse_two_journals()
        refuse_to_lose_a_file(self.options, note or "the journal is to be kept in a file")
        with file_lock(self.options.path, self.cluster.cluster_id):
            file = FileLog(self._path)
            journal = Journal(file, pending_of(file.entries, file.name))
            journal.notes += [note] if note else []
            yield journal

    def _taken(self, progress: Progress) -> TopicLog:
        holder, topics = this_run(), self._topics
        note = ""
        try:
            log = topics.acquire(holder, progress)
        except TopicOfflineError as error:
            progress.step("recovering the journal of an earlier run")
            note = self._recovered(error)
            log = topics.acquire(holder, progress)
        log.notes += [note] if note else []
        return log

    def _recovered(self, offline: TopicOfflineError) -> str:
        try:
            brokers = self.brokers or self.kafka.look_at_brokers(self.cluster)
            return recover_topic(self.kafka, offline.state, brokers, [*self.cluster.living(self.brokers).values()])
        except JournalLostError:
            if not self.options.discard_lost:
                raise
            lost = self._topics.log_of(offline.state.topic_id, offline.state.leader_id)
            if not lost.delete():
                raise
            return f"the journal of an earlier run (topic id {offline.state.topic_id}) was lost and is given up"

    @contextmanager
    def _in_topic(self, log: TopicLog) -> Iterator[Journal]:
        journal = Journal(log, log.state.pending.values())
        journal.notes += log.notes
        try:
            self._adopt_file(journal)
            yield journal
        finally:
            log.close(settled=not journal.pending)
            journal.notes += [each for each in log.notes if each not in journal.notes]

    def _adopt_file(self, journal: Journal) -> None:
        """Bring what an earlier run left in a file into the topic."""
        if not self._file_entries()[0]:
            return
        with file_lock(self.options.path, self.cluster.cluster_id):
            file = FileLog(self._path)
            known = {each.key for each in journal.pending}
            journal.begin([each for each in pending_of(file.entries, file.name) if each.key not in known])
            file.remove()

    def _why_a_file(self, problem: str) -> str:
        if self.options.home is Home.TOPIC:
            raise JournalError(
                f"{problem}. Nothing is changed without a journal: grant what is missing, name another topic "
                "(journal_topic), or keep the journal in a file of this host (journal: file)"
            )
        return (
            f"{problem}. The journal is kept in {self._path} instead: only a run of this user on this host sees it, so "
            "run nothing else against this cluster meanwhile"
        )

    def _refuse_two_journals(self) -> None:
        """Refuse the file where the topic is in use: two journals do not see each other."""
        try:
            state = self._topics.read()
        except (TopicUnavailableError, NoBrokerAnswersError):
            return
        if state is not None and (state.pending or not state.has_left):
            raise JournalError(
                f"topic {self.options.topic} is in use as journal, with {len(state.pending)} pending changes: use it "
                f"(journal: topic). {'; '.join(notes_of(state))}"
            )


def refuse_to_lose_a_file(options: JournalOptions, why: str) -> None:
    """Refuse a file that would not outlive this run, unless the operator chose its directory. Raises JournalError."""
    reason = "" if options.directory else why_lost(Path(options.path))
    if reason:
        raise JournalError(
            f"{why}. But {reason}, and a file there is lost with it: set journal_dir (of a role: kafka_journal_dir) to "
            "a directory that outlives this run, or make the topic usable. Nothing was changed"
        )


def why_lost(directory: Path) -> str:
    """Return why a file in this directory would not outlive the run; empty where it would."""
    for each in _CONTAINER_FILES:
        if os.path.exists(each):
            return f"this run is in a container ({each} exists)"
    if _AWX_VARIABLE in os.environ:
        return f"this run is a job of AWX ({_AWX_VARIABLE} is set)"
    return why_passing(directory)


def why_passing(directory: Path) -> str:
    """Return why files in this directory end with the container, or with the host's uptime; empty where they stay."""
    kind = _file_system_of(directory)
    return f"{directory} is on a file system of type {kind}" if kind in _PASSING_FILE_SYSTEMS else ""


def _file_system_of(directory: Path) -> str:
    """Return the type of the file system that a path is on, or would be; empty where it cannot be found out."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
        path = directory.expanduser().resolve()
    except OSError:
        return ""
    found, kind = Path("/"), ""
    for line in lines:
        mount, _separator, rest = line.partition(" - ")
        point = Path(mount.split()[_MOUNT_POINT])
        if path.is_relative_to(point) and len(point.parts) >= len(found.parts):
            found, kind = point, rest.split()[0]
    return kind
