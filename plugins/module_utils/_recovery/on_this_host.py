# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask and rank replicas without Spark: in this process or, for many replicas, in several helper processes.

One Python process uses one core, and a gather must end in time. Each helper asks some of the brokers. It gets its share
by its standard input, pickled, and writes Arrow record batches to its standard output. It is told the path of the
connection settings, never the settings.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Self

from .._model.background import in_background
from .._model.partition import Cause
from .._model.program import program
from .._spark.tasks import distribute
from .probe_task import GRACE_SECONDS, AskBrokers, BrokerWork, silence_all, to_rows
from .rows import Summary

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa

    from .rows import REPLICA_LOG_SCHEMA, rank_table, summarize_table

_MAX_PROCESSES = 4
_REPLICAS_PER_PROCESS = 50_000
"""The least number of replicas that are worth the start of a helper: half a second, and 80 MiB."""
_START_SECONDS = 10.0
"""How long a helper may take to start and to return its rows, besides the time to ask."""


def processes_for(replicas: int, cores: int | None) -> int:
    """Return the number of processes in which this number of replicas is asked. ``cores`` is None if it is unknown."""
    return max(1, min(_MAX_PROCESSES, cores or 1, replicas // _REPLICAS_PER_PROCESS))


class OnThisHost:
    """The engine without Spark: one thread for each broker, in one process or several."""

    def __init__(self, processes: int = 1) -> None:
        """Set the number of processes. One is this process; more are helpers, and this process asks nothing."""
        self._processes = processes

    @classmethod
    def for_replicas(cls, replicas: int) -> Self:
        """Return the engine for this number of replicas on this host."""
        return cls(processes_for(replicas, os.cpu_count()))

    def ask(self, work: Sequence[BrokerWork], ask_brokers: AskBrokers) -> pa.Table:
        if self._processes == 1:
            return pa.Table.from_batches(ask_brokers(work))
        shares = distribute(work, len, self._processes)
        asked = [in_background(partial(_ask_by_helper, share, ask_brokers), "helper") for share in shares]
        return pa.concat_tables([each.result() for each in asked])

    def rank(self, replica_logs: pa.Table) -> pa.Table:
        return rank_table(replica_logs)

    def summarize(self, replica_logs: pa.Table) -> Summary:
        return summarize_table(replica_logs)


def _ask_by_helper(share: Sequence[BrokerWork], ask_brokers: AskBrokers) -> pa.Table:
    """Ask the brokers by a helper. If it fails, the rows of its brokers say so."""
    limit = ask_brokers.seconds_left() + GRACE_SECONDS + _START_SECONDS
    try:
        done = subprocess.run(
            [sys.executable, "-c", program(f"from {__name__} import answer\nanswer()\n")],
            input=pickle.dumps((share, ask_brokers)),
            capture_output=True,
            check=True,
            timeout=limit,
        )
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").splitlines()[-1:]
        reason = ": ".join([f"it ended with {error.returncode}", *said])
    except subprocess.TimeoutExpired:
        reason = f"it did not end within {limit:.0f} s"
    except OSError as error:
        reason = f"it did not start: {error}"
    else:
        return pa.ipc.open_stream(done.stdout).read_all()
    errors = [(each, f"the process that asked broker {each.broker.broker_id} failed: {reason}") for each in share]
    return pa.Table.from_batches([to_rows(each, silence_all(each, Cause.ERROR, error)) for each, error in errors])


def answer() -> None:
    """Ask a share of the brokers. A helper calls it."""
    output = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints must not get between the rows
    share, ask_brokers = pickle.load(sys.stdin.buffer)
    with os.fdopen(output, "wb") as file, pa.ipc.new_stream(file, REPLICA_LOG_SCHEMA) as stream:
        for batch in ask_brokers(share):
            stream.write_batch(batch)
