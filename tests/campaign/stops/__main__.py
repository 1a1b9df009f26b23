# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command line of the stop campaign: ``python -m campaign.stops``."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import (
    Address,
    ControllerListeners,
    settings_from,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.gate import Gate
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.looking import check_stop
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.question import Question
from campaign.kept import markdown, read_verdicts
from campaign.seeds import judge_seeds, seeds_parser, timed
from campaign.stops.held import HeldFetches
from campaign.stops.judging import Stopped, Verdict
from campaign.stops.states import COMBINED, FIVE, RandomState
from lab import Cluster

SETS = 4
"""How many sets a seed has, each on the state that the one before left."""
_EVERY_FIFTH = 5
Asking: TypeAlias = Callable[[Cluster, Sequence[int]], Gate]
"""Asks the gate about one set of brokers."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the seeds. Returns 1 if a set had another outcome than the prediction, or could not be judged."""
    seeds = f"how many seeds, of {SETS} sets each"
    parser = seeds_parser("campaign.stops", __doc__, "seed", seeds)
    parser.add_argument("--combined", action="store_true", help="three of the brokers are controllers, too")
    chosen = parser.parse_args(arguments)
    version = chosen.kafka_version
    verdicts = read_verdicts(chosen.json, Verdict)
    judged = {each.seed for each in verdicts if each.kafka_version == version}

    def run(cluster: Cluster, seed: int) -> Verdict:
        return run_seed(cluster, seed, version)

    judge_seeds(
        chosen, COMBINED if chosen.combined else FIVE, verdicts, judged, run, lambda seed: Verdict(seed, version)
    )
    sys.stdout.write(markdown(verdicts, Verdict, "kafka_version", "Kafka | seeds"))
    return 0 if all(each.is_clean for each in verdicts) else 1


def ask(cluster: Cluster, brokers: Sequence[int]) -> Gate:
    """Return the answer of the gate, which may ask the controllers, too."""
    options = settings_from({"bootstrap_servers": cluster.bootstrap(), "request_timeout_ms": 2000})
    controllers = tuple(
        Address(each.host, each.ports["CONTROLLER"]) for each in cluster.nodes if "CONTROLLER" in each.ports
    )
    with Wire(options, ControllerListeners(controllers)) as wire:
        return check_stop(Kafka(wire), Question((tuple(sorted(brokers)),)))


def run_seed(cluster: Cluster, seed: int, kafka_version: str, sets: int = SETS, *, asking: Asking = ask) -> Verdict:
    """Disturb a healthy cluster at random, ask about a random set, stop exactly it, compare, and go on from there.

    Odd seeds are calm. In every fifth seed, leaders have records of acks=1 that followers in sync do not have yet.
    """
    verdict = Verdict(seed, kafka_version)
    state = RandomState(cluster, random.Random(f"stops, seed {seed}"), f"t{seed}", is_calm=seed % 2 == 1)
    with timed(verdict):
        if seed % _EVERY_FIFTH == _EVERY_FIFTH - 1:
            state.held = HeldFetches(cluster)
            state.held.prepare()
        try:
            state.create_topics()
            for _ in range(sets):
                predict_and_stop(state, verdict, asking)
        finally:
            if state.held is not None:
                state.held.release()
            state.end()
    verdict.events = state.events
    return verdict


def predict_and_stop(state: RandomState, verdict: Verdict, asking: Asking) -> None:
    """Disturb the cluster, predict what happens when some brokers stop, stop them, and count the outcome."""
    is_recent = state.disturb()
    if not is_recent:
        state.settled()
        state.hide_records()
    down, stopped = frozenset(state.down), state.choose_set()
    before = state.read()
    while True:
        gate = asking(state.cluster, stopped)
        asked_of, before = before, state.read()
        # A replica that got in sync in between was perhaps not in sync for the gate.
        if is_recent or before == asked_of:
            break
    ends_before = state.ends(before)
    state.stop(stopped)
    if state.held is not None:
        state.held.release()
    if not state.keeps_quorum(state.down):
        # Nothing is elected until it is back.
        verdict.count_lost_quorum(gate, stopped)
        state.bring_back_quorum()
        return
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


if __name__ == "__main__":
    sys.exit(main())
