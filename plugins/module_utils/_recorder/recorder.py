# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Record what every replica of a cluster holds. Reads Kafka, and writes only the recordings.

1. Spark starts, while all brokers are asked (``asking``).
2. Spark finds what changed since the newest snapshot (``changes``), and writes it (``dataset``). From time to time, it
   writes all replicas, so that older snapshots can be removed.
3. Snapshots that cannot be read are put aside, and the next one is full.
4. Snapshots that are older than ``keep_hours`` are removed, as far as later ones do not need them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from .._kafka.port import Kafka
from .._kafka.wire import Wire
from .._model.background import BackgroundContext
from .._model.reasons import plural
from .._model.run import Progress
from .._module.connection import connection_settings
from .._module.options import progress_to
from .._module.run import call_all
from .asking import ClusterLook, look_at_cluster
from .changes import compare, newest_rows, to_store
from .dataset import Recordings, recordings_of
from .names import (
    BROKERS,
    RecordingError,
    SnapshotName,
    expired,
    explain_damaged,
    explain_later,
    read_around_damaged,
    since_full,
    usable,
)
from .options import read_keep, read_recorder_dir, read_scope, read_spark

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    import pyarrow.compute as pc

    from .._spark.session import spark_session

_FULL_EVERY = 24
"""Snapshots from one full one to the next. Who wants the newest state reads at most so many."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was recorded."""

    cluster_id: str
    place: str
    """The URI of the snapshot. In check mode, of the directory in which it would be."""
    is_full: bool
    """Whether the snapshot has all replicas, not only those that changed."""
    replicas: int
    stored_rows: int
    """Replicas in the snapshot: new ones, changed ones and removed ones, or all of them."""
    size_bytes: int | None
    """None in check mode."""
    missing: Mapping[str, int]
    """Replicas that gave no answer, by cause."""
    silent_brokers: Mapping[str, str]
    """Why brokers gave no answer, by broker id."""
    expired: int
    """Snapshots that were removed; in check mode, that would be."""
    notes: tuple[str, ...]

    def describe(self) -> Iterator[str]:
        """Yield the result for a person, line by line."""
        kind = "all" if self.is_full else f"{self.stored_rows} changed ones"
        done = "would store" if self.size_bytes is None else "stored"
        yield f"{done} {kind} of {plural(self.replicas, 'replica')} of cluster {self.cluster_id} in {self.place}"
        if self.missing:
            causes = ", ".join(f"{cause}: {count}" for cause, count in self.missing.items())
            yield f"{plural(sum(self.missing.values()), 'replica')} gave no answer ({causes})"
        yield from (f"broker {broker_id} gave no answer: {error}" for broker_id, error in self.silent_brokers.items())
        if self.expired:
            yield f"{'would remove' if self.size_bytes is None else 'removed'} {self.expired} old snapshots"
        yield from self.notes


def record(params: Mapping[str, Any], *, check_mode: bool) -> Recorded:
    """Record the cluster once. Raises KafkaOpsError; what can be refused without the cluster is refused at first."""
    settings, place, scope, keep, options = call_all(
        lambda: connection_settings(params),
        lambda: read_recorder_dir(params["recorder_dir"]),
        lambda: read_scope(params["scope"]),
        lambda: read_keep(params["keep_hours"]),
        lambda: read_spark(params["spark"]),
    )
    progress = progress_to(params["progress_file"])
    opening = BackgroundContext(lambda: spark_session(options, runs_python=False), "spark-start")
    with opening:
        opening.begin()
        progress.step("asking all replicas")
        with Wire(settings) as wire:
            look = look_at_cluster(Kafka(wire), scope)
        progress.step("comparing with the recordings")
        recordings = recordings_of(opening.opened(), place, look.cluster_id, params["scope"])
        return store(opening.opened(), recordings, look, keep, check_mode=check_mode, progress=progress)


def store(
    spark: Any, recordings: Recordings, look: ClusterLook, keep: timedelta, *, check_mode: bool, progress: Progress
) -> Recorded:
    """Store what changed since the newest snapshot before the look, and remove what is too old."""
    names = recordings.names()
    # Each snapshot builds on earlier ones only, also if a clock was wrong or is: so they can be read in their order.
    earlier = [each for each in names if each.at <= look.at]
    later = names[len(earlier) :]
    notes = [*look.notes, *([explain_later(later)] if later else [])]

    def write_after(damaged: frozenset[str]) -> tuple[SnapshotName, int, set[str]]:
        intact = usable(earlier, damaged)
        chain = since_full(intact)
        # What is known of replicas there stays in use: it may be all that is known of a dead broker's.
        without_brokers = recordings.find_empty(chain, BROKERS)
        is_full = not chain or len(chain) >= _FULL_EVERY or bool(damaged or without_brokers)
        name = SnapshotName.new(look.at, is_full=is_full)
        before = newest_rows(recordings.replicas(chain))
        compared = compare(spark.createDataFrame(look.replicas), before, name.at, chain[-1].at if chain else None)
        rows = to_store(compared, is_full=is_full)
        if check_mode:
            return name, recordings.count(rows), without_brokers
        progress.step("writing what changed")
        lost = [each for each in earlier if each not in intact]
        return name, recordings.write(name, rows, spark.createDataFrame(look.brokers), lost), without_brokers

    (name, stored, without_brokers), damaged = read_around_damaged(write_after)
    if without_brokers:
        notes.append(
            f"{', '.join(sorted(without_brokers))}: what is stored of brokers is damaged, so exposure reports do not "
            "use it; what is stored of replicas is in use"
        )
    if damaged:
        notes.append(explain_damaged(earlier, damaged))
    # A clock that is ahead for one job must not remove everything.
    cutoff = min([look.at, *(each.at for each in earlier[-1:])]) - keep
    old = expired(usable(earlier, damaged), cutoff)
    removed = len(old)
    if not check_mode:
        try:
            removed = recordings.remove(old, look.at, cutoff)
        except RecordingError as error:
            removed = 0
            notes.append(f"old snapshots were not removed: {error}")
    return Recorded(
        look.cluster_id,
        recordings.uri if check_mode else f"{recordings.uri}/{name.text}",
        name.is_full,
        look.replicas.num_rows,
        stored,
        None if check_mode else recordings.size_bytes(name),
        _count_causes(look.replicas),
        {str(broker_id): error for broker_id, error in sorted(look.silent.items())},
        removed,
        tuple(notes),
    )


def _count_causes(replicas: pa.Table) -> dict[str, int]:
    missing = replicas["cause"].filter(pc.is_valid(replicas["cause"]))
    return dict(sorted((each["values"], each["counts"]) for each in missing.value_counts().to_pylist()))
