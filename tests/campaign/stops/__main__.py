# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command line of the stop campaign: ``python -m campaign.stops``."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence

from confluent_kafka import KafkaException

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.gate import Gate
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.looking import check_stop
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.question import Question
from campaign.kept import markdown, print_verdict, read_verdicts, write_verdicts
from campaign.stops.judging import Stopped, Verdict
from campaign.stops.states import FIVE, RandomState
from lab import Cluster, versions
from lab.node import NodeError
from lab.pool import ClusterPool

SETS = 4
"""How many sets a seed has, each on the state that the one before left."""
_ABORTED = (NodeError, TimeoutError, OSError, KafkaException, RuntimeError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the seeds. Returns 1 if a set had another outcome than the prediction, or could not be judged."""
    chosen = _parser().parse_args(arguments)
    verdicts = read_verdicts(chosen.json, Verdict)
    judged = {(each.kafka_version, each.seed) for each in verdicts}
    with ClusterPool() as pool:
        for seed in range(chosen.first_seed, chosen.first_seed + chosen.seeds):
            if (chosen.kafka_version, seed) in judged:
                continue
            try:
                with pool.lease(FIVE, chosen.kafka_version) as cluster:
                    verdict = run_seed(cluster, seed, chosen.kafka_version)
            except _ABORTED as error:
                verdict = Verdict(seed, chosen.kafka_version, not_judged=1, notes=[f"no cluster: {error}"])
            if verdict.not_judged:
                pool.close()
            verdicts.append(verdict)
            print_verdict(verdict, is_verbose=chosen.verbose)
            write_verdicts(chosen.json, verdicts)
    sys.stdout.write(markdown(verdicts, Verdict, "kafka_version", "Kafka | seeds"))
    return 0 if all(each.is_clean for each in verdicts) else 1


def run_seed(cluster: Cluster, seed: int, kafka_version: str, sets: int = SETS) -> Verdict:
    """Disturb a healthy cluster at random, ask about a random set, stop exactly it, compare, and go on from there.

    Odd seeds are calm.
    """
    verdict = Verdict(seed, kafka_version)
    state = RandomState(cluster, random.Random(f"stops, seed {seed}"), is_calm=seed % 2 == 1)
    begun = time.monotonic()
    try:
        state.create_topics()
        for _ in range(sets):
            predict_and_stop(state, verdict)
    except _ABORTED as error:
        verdict.not_judged = 1
        verdict.notes.append(f"{type(error).__name__}: {error}")
    finally:
        state.end()
    verdict.events = state.events
    verdict.seconds = time.monotonic() - begun
    return verdict


def predict_and_stop(state: RandomState, verdict: Verdict) -> None:
    """Disturb the cluster, predict what happens when some brokers stop, stop them, and count the outcome."""
    is_recent = state.disturb()
    if not is_recent:
        state.settled()
    down, stopped = frozenset(state.down), state.choose_set()
    before = state.read()
    while True:
        gate = ask(state.cluster, stopped)
        asked_of, before = before, state.read()
        # A replica that got in sync in between was perhaps not in sync for the gate.
        if is_recent or before == asked_of:
            break
    ends_before = state.ends(before)
    state.stop(stopped)
    after = state.settled()
    Stopped(
        gate=gate,
        topics=state.topics,
        before=before,
        after=after,
        ends_before=ends_before,
        ends_after=state.ends(after),
        stopped=frozenset(stopped),
        down=down,
        reassigned=state.reassigned,
        is_recent=is_recent,
    ).count(verdict)


def ask(cluster: Cluster, brokers: Sequence[int]) -> Gate:
    """Return the answer of the gate, which may ask the controllers, too."""
    options = settings_from({"bootstrap_servers": cluster.bootstrap(), "request_timeout_ms": 2000})
    controllers = [Address(each.host, each.port) for each in cluster.controllers.values()]
    with Wire(options, controllers=controllers) as wire:
        return check_stop(Kafka(wire), Question((tuple(sorted(brokers)),)), controllers)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m campaign.stops", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help=f"how many seeds, of {SETS} sets each (default: 5)")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--kafka-version", choices=versions.KAFKA, default=versions.DEFAULT)
    parser.add_argument("--verbose", action="store_true", help="print the events of clean seeds, too")
    parser.add_argument("--json", metavar="FILE", help="write every verdict; run no seed again that was judged there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
