# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The cost of lock and journal in a run: take, write, check, settle and release, compared with no journal."""

from __future__ import annotations

from collections.abc import Iterator

from bench.kit.row import Options, Row, Timing
from bench.kit.timing import in_turns, timed
from lab import Cluster
from lab.changes import a_change, cluster_journal

_CHANGES = 1000
_REPEATS = 10


def run(options: Options) -> Iterator[Row]:
    """Time the same connections and reads with the lock and without it, in turns."""
    with Cluster(brokers=3) as cluster:
        bootstrap = cluster.bootstrap()
        alone, locked = in_turns(
            max(options.repeats, _REPEATS),
            lambda: timed(lambda: _look(bootstrap)),
            lambda: timed(lambda: _hold(bootstrap)),
        )
    yield Row(
        Timing("the look at the brokers that every run has", alone),
        Timing(f"the same, with lock and a journal of {_CHANGES} changes", locked),
    )


def _look(bootstrap: str) -> None:
    with cluster_journal(bootstrap):
        pass


def _hold(bootstrap: str) -> None:
    with cluster_journal(bootstrap) as lock, lock.open() as journal:
        journal.begin([a_change(number) for number in range(_CHANGES)])
        for _write in ("reorder", "election", "restore"):
            journal.require_lock()
        journal.end(journal.pending, "benchmark")
