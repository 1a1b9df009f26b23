# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Give saved records back, each exactly once, also if a run is interrupted and another run continues.

1. Verify the saved files, and find the topic that each partition is given back to (targets.py).
2. Take the lock, and start the producer of replays: this ends every transaction of an earlier run.
3. Create the side topics and the progress topic. Read the ledgers of earlier runs from the latter.
4. Find what is left to give back (outstanding.py).
5. Write it, with the ledgers, in transactions (replay_writer.py).
6. Wait until all of it can be read.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from .._changes.cluster_journal import ClusterJournal
from .._changes.journal import Journal
from .._changes.journal_reader import JournalOptions
from .._kafka.cluster import Cluster
from .._kafka.log_reading import SETTLE_S
from .._kafka.port import Kafka
from .._kafka.transactions import TRANSACTION_LIMIT
from .._model.background import in_background
from .._model.near_names import not_found
from .._model.partition import TopicPartition
from .._model.run import KafkaOpsError, Progress
from .held_again import HeldAgain
from .ledger import Ledger
from .manifest import Manifest, find_file_problems, read_manifest
from .outstanding import Outstanding, earlier_counts
from .partition_replay import PartitionReplay
from .replay_progress import Ledgers, ProgressTopic
from .replay_writer import ReplayWriter
from .replayed import Counts, Replayed, ReplayStatus, Target, build_replayed, name_target_topic
from .saved import SavedRecords
from .side_topics import create_side_topics
from .targets import ReplayTerms, Targets, find_targets
from .transactional import ProducerError, TransactionalProducer
from .unfinished import explain_unfinished, find_obstacle

_OPEN = "a transaction of another replay is open: what it gives back counts as not given back here"


class ReplayError(KafkaOpsError):
    """A salvage cannot be given back. Nothing was written."""


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """What to give back, and how."""

    directory: str
    topics: frozenset[str] | None
    """None for all topics of the salvage."""
    terms: ReplayTerms
    throttle_bytes_per_second: int
    """0 for no limit."""
    progress_topic: str
    journal: JournalOptions
    other_cluster: bool = False
    """Whether the salvage may be of another cluster."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Result of giving a salvage back."""

    manifest: Manifest
    partitions: tuple[Replayed, ...]
    """In order of topic and partition number."""
    settled_before: Mapping[TopicPartition, int]
    """Records of this salvage that earlier runs gave back, or left out because a compacted topic does not need them."""
    notes: Sequence[str] = ()
    """Messages about the lock for the person on call."""


class Replayer:
    """Gives one salvage back."""

    def __init__(self, kafka: Kafka, request: ReplayRequest, progress: Progress, stop: threading.Event) -> None:
        """Start to verify the files of the salvage. Raises ManifestError, DocumentError or ReplayError."""
        self._kafka = kafka
        self._request = request
        self._progress = progress
        self._stop = stop
        self._manifest = read_manifest(request.directory)
        # Hashing takes seconds per GB. Meanwhile brokers are asked and the lock is taken.
        work = partial(find_file_problems, request.directory, self._manifest.files)
        self._file_problems = in_background(work, "verify")
        self._saved = _select_partitions(self._manifest, request)

    def preview(self) -> Replay:
        """Return what would be given back, without writing anything. Raises KafkaOpsError."""
        cluster = self._describe_cluster()
        self._require_transactions()
        targets = self._find_targets()
        self._require_intact_files()
        # A transaction of a killed run is open until the next run has started: here, it counts as not written.
        ledgers = self._open_progress_topic(cluster).read(waits=False)
        outstanding = self._outstanding(cluster, wait_s=None)
        parts = outstanding.find(targets, {}, ledgers)
        settled = outstanding.count(parts, self._ledgers_of_refused(targets, ledgers))
        rows = [_build_result(each, ReplayStatus.WOULD_BE_GIVEN_BACK, each.counts.to_give) for each in parts.values()]
        notes = [*targets.notes, *outstanding.describe_held(parts), *([_OPEN] if ledgers.is_open else [])]
        return Replay(self._manifest, self._with_untouched(rows, targets, ledgers), settled, notes)

    def give_back(self) -> Replay:
        """Give records back. The result names failed partitions. Raises KafkaOpsError if nothing was given back."""
        cluster = self._describe_cluster()
        self._require_transactions()
        lock = ClusterJournal(self._kafka, cluster, self._request.journal)
        with lock.open(self._progress) as journal:
            done = self._give_back_under_lock(journal)
        return replace(done, notes=[*journal.notes, *done.notes])

    def _give_back_under_lock(self, journal: Journal) -> Replay:
        cluster = self._describe_cluster()
        targets = self._find_targets()
        self._require_intact_files()
        progress_topic = self._open_progress_topic(cluster)
        most_bytes = min((each.most_bytes for each in targets.topics.values()), default=0)
        self._progress.step("starting transactions")
        journal.require_lock()
        try:
            producer = self._start_producer(cluster, most_bytes)
        except ProducerError as error:
            raise ReplayError(f"{error}. Nothing was written") from None
        try:
            progress_topic.create()

            def before_each(name: str) -> None:
                self._progress.step(f"creating topic {name}")
                journal.require_lock()

            created = create_side_topics(self._kafka, cluster.unfenced, self._saved, targets, before_each)
            # Read only now: the producer's start has ended all transactions of earlier runs.
            ledgers = progress_topic.read()
            outstanding = self._outstanding(cluster, wait_s=SETTLE_S)
            parts = outstanding.find(targets, created, ledgers)
            settled = outstanding.count(parts, self._ledgers_of_refused(targets, ledgers))
            ReplayWriter(
                producer,
                progress_topic,
                parts,
                self._manifest.cluster_id,
                self._request.throttle_bytes_per_second,
                journal.require_lock,
                self._progress,
                self._stop,
                outstanding.held_again if self._request.terms.target is Target.ORIGINAL else None,
            ).write(outstanding.read_runs({each.topic for each in self._saved}, contents=True))
        finally:
            producer.close()
        rows = [_build_result(each, ReplayStatus.GIVEN_BACK, each.counts.given) for each in parts.values()]
        notes = [*targets.notes, *outstanding.describe_held(parts), *self._wait_for_markers(cluster, most_bytes)]
        return Replay(self._manifest, self._with_untouched(rows, targets, ledgers), settled, notes)

    @property
    def _transactional_id(self) -> str:
        return f"kafkaops.recovery.{self._request.progress_topic}"

    def _require_transactions(self) -> None:
        """Raise ReplayError if brokers must be started before there can be a transaction."""
        if obstacle := find_obstacle(self._kafka, self._transactional_id):
            raise ReplayError(f"transactions cannot be written: {obstacle}. Nothing was written")

    def _start_producer(self, cluster: Cluster, most_bytes: int) -> TransactionalProducer:
        """Start a producer that ends the last transaction of its id. Raises ProducerError or SettingsError."""
        name, brokers = self._transactional_id, cluster.unfenced.values()
        explain = partial(explain_unfinished, self._kafka, name)
        limit_ms = min(filter(None, self._kafka.broker_numbers(cluster.unfenced, TRANSACTION_LIMIT)), default=None)
        tell = self._progress.step
        return TransactionalProducer(self._kafka.settings, brokers, name, most_bytes, explain, tell, limit_ms)

    def _wait_for_markers(self, cluster: Cluster, most_bytes: int) -> Iterator[str]:
        """Wait until all committed records can be read: then another producer with the same id can start.

        Yields why some cannot be read yet. They are committed all the same.
        """
        self._progress.step("waiting until all records can be read")
        try:
            self._start_producer(cluster, most_bytes).close()
        except ProducerError as error:
            yield f"read_committed consumers may not get all of these records yet: {error}"

    def _open_progress_topic(self, cluster: Cluster) -> ProgressTopic:
        return ProgressTopic(self._kafka, cluster.unfenced, self._request.progress_topic, self._progress.step)

    def _require_intact_files(self) -> None:
        """Wait until every file is verified. Raises ReplayError."""
        self._progress.step("verifying the saved files")
        problems = self._file_problems.result()
        if problems:
            raise ReplayError("; ".join(problems) + ". Nothing was given back")

    def _describe_cluster(self) -> Cluster:
        cluster = self._kafka.describe_cluster()
        if cluster.cluster_id != self._manifest.cluster_id and not self._request.other_cluster:
            raise ReplayError(
                f"the salvage is of cluster {self._manifest.cluster_id}, and this is cluster {cluster.cluster_id}: "
                "check bootstrap_servers and the salvage directory. If that cluster is gone, set other_cluster to give "
                "the records back to side topics here"
            )
        return cluster

    def _outstanding(self, cluster: Cluster, wait_s: float | None) -> Outstanding:
        reused = {each.topic_partition: each.reused_epochs for each in self._manifest.held}
        is_ours = cluster.cluster_id == self._manifest.cluster_id
        return Outstanding(
            self._kafka,
            cluster,
            self._progress,
            self._request.directory,
            self._manifest,
            self._saved,
            HeldAgain(self._kafka, self._saved, reused) if is_ours else None,
            self._request.terms.include_unknown,
            wait_s,
        )

    def _find_targets(self) -> Targets:
        return find_targets(self._kafka, self._saved, self._request.terms)

    def _with_untouched(self, rows: list[Replayed], targets: Targets, ledgers: Ledgers) -> tuple[Replayed, ...]:
        """Add the internal and the refused partitions, and sort all by topic and partition number."""
        ledgers_of_refused = self._ledgers_of_refused(targets, ledgers)
        for each in self._saved:
            partition = each.topic_partition
            if partition in targets.internal:
                reason = "it is an internal topic"
                rows.append(build_replayed(each, each.topic, ReplayStatus.NEVER_REPLAYED, reason, Counts()))
            elif partition in targets.refused:
                name = name_target_topic(each.topic, self._request.terms.target)
                counts = earlier_counts(ledgers_of_refused[partition])
                rows.append(build_replayed(each, name, ReplayStatus.REFUSED, targets.refused[partition], counts))
        return tuple(sorted(rows, key=lambda each: each.topic_partition))

    def _ledgers_of_refused(self, targets: Targets, ledgers: Ledgers) -> dict[TopicPartition, Ledger]:
        return {
            each.topic_partition: ledgers.of(each, targets.topics[each.topic].topic_id or "")[1]
            for each in self._saved
            if each.topic_partition in targets.refused and each.topic_partition not in targets.internal
        }


def _build_result(part: PartitionReplay, status: ReplayStatus, records: int) -> Replayed:
    """Return the result of a partition: ``status`` if this run gives some records back."""
    status = ReplayStatus.FAILED if part.failure else status if records else ReplayStatus.NOTHING_LEFT
    return build_replayed(part.saved, part.target.name, status, part.failure, part.counts)


def _select_partitions(manifest: Manifest, request: ReplayRequest) -> list[SavedRecords]:
    if request.topics is None:
        return list(manifest.partitions)
    saved = {each.topic for each in manifest.partitions}
    absent = not_found(request.topics - saved, saved)
    if absent:
        raise ReplayError(f"{'; '.join(absent.values())}; looked in {request.directory}")
    return [each for each in manifest.partitions if each.topic in request.topics]
