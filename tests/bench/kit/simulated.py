# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The simulator as the cluster of a benchmark."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection

from lab.faults import Fault
from simulator import SimulatedCluster
from simulator.world import World


@contextmanager
def simulator(make_world: Callable[[], World], faults: Mapping[int | None, Fault] | None = None) -> Iterator[str]:
    """Yield the bootstrap servers. The simulator runs in its own process, because it is not measured.

    ``make_world`` is called there, and has to be one that can be pickled. ``faults`` has those of each broker, and
    of all others (None).
    """
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_simulate, args=[theirs, make_world, faults or {}], daemon=True
    )
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send(None)
        process.join(10)
        process.kill()


def _simulate(pipe: Connection, make_world: Callable[[], World], faults: Mapping[int | None, Fault]) -> None:
    with SimulatedCluster(make_world(), is_recorded=bool(faults)) as cluster:
        # The newest rule wins: those of single brokers are last.
        for broker_id in sorted(faults, key=lambda each: each is not None):
            cluster.proxy.inject(faults[broker_id], broker=broker_id)
        pipe.send(cluster.bootstrap())
        pipe.recv()
