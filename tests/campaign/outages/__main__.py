# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command line of the outage campaign: ``python -m campaign.outages``."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import KafkaException

from campaign.kept import markdown, print_verdict, read_verdicts, write_verdicts
from campaign.outages.judging import Judge, Verdict
from campaign.outages.script import Outage, specification
from lab import Cluster, versions
from lab.node import NodeError
from lab.pool import ClusterPool

_ABORTED = (NodeError, TimeoutError, OSError, KafkaException, RuntimeError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the outages. Returns 1 if a count is not 0 that should be 0."""
    chosen = _parser().parse_args(arguments)
    has_elr = chosen.elr and versions.has_elr(chosen.kafka_version)
    kind = specification(has_elr=has_elr, has_snapshots=chosen.snapshots)
    setting = f"{chosen.kafka_version}, {kind.name.removeprefix('outages, ')}"
    verdicts = read_verdicts(chosen.json, Verdict)
    judged = {(each.setting, each.seed) for each in verdicts}
    with ClusterPool() as pool, tempfile.TemporaryDirectory(prefix="kafkaops-") as directory:
        for seed in range(chosen.first_seed, chosen.first_seed + chosen.seeds):
            if (setting, seed) in judged:
                continue
            try:
                with pool.lease(kind, chosen.kafka_version) as cluster:
                    verdict = run_outage(cluster, seed, setting, Path(tempfile.mkdtemp(dir=directory)))
            except _ABORTED as error:
                verdict = Verdict(seed, setting, not_judged=1, notes=[f"no cluster: {error}"])
            if verdict.not_judged:
                pool.close()
            verdicts.append(verdict)
            print_verdict(verdict, is_verbose=chosen.verbose)
            write_verdicts(chosen.json, verdicts)
    sys.stdout.write(markdown(verdicts, Verdict, "setting", " | outages"))
    return 0 if all(each.is_clean for each in verdicts) else 1


def run_outage(cluster: Cluster, seed: int, setting: str, directory: Path) -> Verdict:
    """Run one outage on a healthy cluster, elect, and judge."""
    verdict = Verdict(seed, setting)
    outage = Outage(cluster, random.Random(f"{setting}, seed {seed}"))
    begun = time.monotonic()
    try:
        outage.take_place()
        Judge(outage, verdict, directory).judge()
    except _ABORTED as error:
        verdict.not_judged = 1
        verdict.notes.append(f"{type(error).__name__}: {error}")
    verdict.events = outage.events
    verdict.seconds = time.monotonic() - begun
    return verdict


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m campaign.outages", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="how many outages (default: 5)")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--kafka-version", choices=versions.KAFKA, default=versions.DEFAULT)
    parser.add_argument("--elr", action="store_true", help="with eligible leader replicas, where the version has them")
    parser.add_argument("--snapshots", action="store_true", help="let the controllers write snapshots in between")
    parser.add_argument("--verbose", action="store_true", help="print the events and notes of clean outages, too")
    parser.add_argument("--json", metavar="FILE", help="write every verdict; run no outage again that was judged there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
