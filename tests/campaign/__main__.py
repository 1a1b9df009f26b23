# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The campaign's command line: ``python -m campaign``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue

from rich.console import Console

from campaign.kept import read_verdicts, write_verdicts
from campaign.kinds import KINDS, Kind
from campaign.report import table
from campaign.trial import CAMPAIGN, run_trial
from campaign.verdict import Verdict
from lab import versions
from lab.commit import commit_on_trial
from lab.node import NodeError
from lab.pool import ClusterPool

_WIDTH_OF_A_LOG = 140


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the trials. Returns 1 if the oracle counted a value that should be 0."""
    chosen = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else _WIDTH_OF_A_LOG)
    kinds = [each for each in KINDS if not chosen.only or any(part in each.name for part in chosen.only)]
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
    verdicts = read_verdicts(chosen.json, Verdict)
    if verdicts:
        console.print(f"{len(verdicts)} trials of {chosen.json} are not run again, whatever code they judged")
    version = chosen.kafka_version
    judged = {(each.kind, each.seed) for each in verdicts if each.kafka_version == version}
    missing = [(kind, seed) for seed in seeds for kind in kinds if (kind.name, seed) not in judged]
    commit = commit_on_trial()
    for verdict in trials(missing, version, chosen.jobs):
        verdict.commit, verdict.kafka_version = commit, version
        verdicts.append(verdict)
        state = "clean" if verdict.is_clean else "[red]NOT CLEAN[/red]"
        console.print(f"{verdict.kind}, seed {verdict.seed}: {state}, {verdict.seconds:.0f} s", highlight=False)
        for note in verdict.notes if chosen.verbose or not verdict.is_clean else ():
            console.print(f"    {note}", markup=False, highlight=False)
        write_verdicts(chosen.json, verdicts)
    console.print(table(verdicts))
    return 0 if all(each.is_clean for each in verdicts) else 1


def trials(wanted: Iterable[tuple[Kind, int]], kafka_version: str, jobs: int) -> Iterator[Verdict]:
    """Run kinds with seeds, ``jobs`` trials at a time, each on a cluster that is healed after the last one.

    A trial waits for most of its time. Its processes are JVMs: the threads here have little to do.
    """
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafkaops-")))
        pools: SimpleQueue[ClusterPool] = SimpleQueue()
        for _ in range(jobs):
            pools.put(stack.enter_context(ClusterPool()))

        def run(kind: Kind, seed: int) -> Verdict:
            pool = pools.get()
            try:
                return _on_a_lease(pool, kafka_version, kind, seed, Path(tempfile.mkdtemp(dir=directory)))
            finally:
                pools.put(pool)

        executor = stack.enter_context(ThreadPoolExecutor(jobs, thread_name_prefix="trial"))
        stack.callback(executor.shutdown, cancel_futures=True)
        for done in as_completed([executor.submit(run, kind, seed) for kind, seed in wanted]):
            yield done.result()


def _on_a_lease(pool: ClusterPool, kafka_version: str, kind: Kind, seed: int, directory: Path) -> Verdict:
    try:
        with pool.lease(CAMPAIGN, kafka_version) as cluster:
            verdict = run_trial(cluster, kind, seed, directory)
    except (NodeError, TimeoutError, OSError) as error:
        verdict = Verdict(kind.name, seed, not_judged=1, notes=[f"no cluster: {error}"])
    if verdict.not_judged:
        # The state after an aborted trial is unknown.
        pool.close()
    return verdict


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m campaign", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="how many trials of each kind of fault (default: 20)")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="how many trials at a time; each needs 2 GiB (default: 1)")
    parser.add_argument("--only", action="append", metavar="TEXT", help="only kinds whose name has this in it")
    parser.add_argument("--kafka-version", choices=versions.KAFKA, default=versions.DEFAULT)
    parser.add_argument("--verbose", action="store_true", help="print why runs failed, of clean trials, too")
    parser.add_argument("--json", metavar="FILE", help="write every verdict; run no trial again that was judged there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
