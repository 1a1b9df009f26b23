# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command line of the outage campaign: ``python -m campaign.outages``."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from campaign.kept import markdown, read_verdicts
from campaign.outages.judging import Judge, Verdict
from campaign.outages.script import Outage, specification
from campaign.seeds import judge_seeds, seeds_parser, timed
from lab import Cluster, versions


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the outages. Returns 1 if a count is not 0 that should be 0."""
    chosen = _parser().parse_args(arguments)
    has_elr = chosen.elr and versions.has_elr(chosen.kafka_version)
    kind = specification(has_elr=has_elr, has_snapshots=chosen.snapshots)
    setting = f"{chosen.kafka_version}, {kind.name.removeprefix('outages, ')}"
    verdicts = read_verdicts(chosen.json, Verdict)
    judged = {each.seed for each in verdicts if each.setting == setting}
    with tempfile.TemporaryDirectory(prefix="kafkaops-") as directory:

        def run(cluster: Cluster, seed: int) -> Verdict:
            return run_outage(cluster, seed, setting, Path(tempfile.mkdtemp(dir=directory)))

        judge_seeds(chosen, kind, verdicts, judged, run, lambda seed: Verdict(seed, setting))
    sys.stdout.write(markdown(verdicts, Verdict, "setting", " | outages"))
    return 0 if all(each.is_clean for each in verdicts) else 1


def run_outage(cluster: Cluster, seed: int, setting: str, directory: Path) -> Verdict:
    """Run one outage on a healthy cluster, elect, and judge."""
    verdict = Verdict(seed, setting)
    outage = Outage(cluster, random.Random(f"{setting}, seed {seed}"))
    with timed(verdict):
        outage.take_place()
        Judge(outage, verdict, directory).judge()
    verdict.events = outage.events
    return verdict


def _parser() -> argparse.ArgumentParser:
    parser = seeds_parser("campaign.outages", __doc__, "outage", "how many outages")
    parser.add_argument("--elr", action="store_true", help="with eligible leader replicas, where the version has them")
    parser.add_argument("--snapshots", action="store_true", help="let the controllers write snapshots in between")
    return parser


if __name__ == "__main__":
    sys.exit(main())
