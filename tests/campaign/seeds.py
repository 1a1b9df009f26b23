# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judge one seed after another on a cluster that is healed in between: what the outage and stop campaigns share."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from confluent_kafka import KafkaException

from campaign.kept import print_verdict, write_verdicts
from lab import Cluster, versions
from lab.commit import commit_on_trial
from lab.node import NodeError
from lab.pool import ClusterPool, Specification

_ABORTED = (NodeError, TimeoutError, OSError, KafkaException, RuntimeError)


class SeedVerdict(Protocol):
    """What a seed's verdict has besides its counts."""

    not_judged: int
    """1 if the lab aborted it."""
    notes: list[str]
    seconds: float
    commit: str
    """The code that was on trial."""


Judged = TypeVar("Judged", bound=SeedVerdict)


def judge_seeds(  # noqa: PLR0917 - the parts of a campaign
    chosen: argparse.Namespace,
    specification: Specification[Cluster],
    verdicts: list[Judged],
    judged: Collection[int],
    run: Callable[[Cluster, int], Judged],
    new: Callable[[int], Judged],
) -> None:
    """Run the chosen seeds that are not ``judged``, and add each verdict to those that are printed and written.

    ``new`` makes an empty verdict, for a seed that gets no cluster.
    """
    commit = commit_on_trial()
    with ClusterPool() as pool:
        for seed in range(chosen.first_seed, chosen.first_seed + chosen.seeds):
            if seed in judged:
                continue
            try:
                with pool.lease(specification, chosen.kafka_version) as cluster:
                    verdict = run(cluster, seed)
            except _ABORTED as error:
                verdict = new(seed)
                verdict.not_judged = 1
                verdict.notes.append(f"no cluster: {error}")
            if verdict.not_judged:
                # The state after an aborted seed is unknown.
                pool.close()
            verdict.commit = commit
            verdicts.append(verdict)
            print_verdict(verdict, is_verbose=chosen.verbose)
            write_verdicts(chosen.json, verdicts)


@contextmanager
def timed(verdict: SeedVerdict) -> Iterator[None]:
    """Measure a seed. If the lab aborts it, note why: then it is not judged."""
    begun = time.monotonic()
    try:
        yield
    except _ABORTED as error:
        verdict.not_judged = 1
        verdict.notes.append(f"{type(error).__name__}: {error}")
    verdict.seconds = time.monotonic() - begun


def seeds_parser(campaign: str, description: str | None, one: str, seeds: str) -> argparse.ArgumentParser:
    """Return the options of both. ``one`` is what a seed makes, and ``seeds`` says what their number means."""
    parser = argparse.ArgumentParser(prog=f"python -m {campaign}", description=description)
    parser.add_argument("--seeds", type=int, default=5, help=f"{seeds} (default: 5)")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--kafka-version", choices=versions.KAFKA, default=versions.DEFAULT)
    parser.add_argument("--verbose", action="store_true", help=f"print the events and notes of each clean {one}, too")
    written = f"write every verdict; run no {one} again that was judged there"
    parser.add_argument("--json", metavar="FILE", help=written)
    return parser
