# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A healthy cluster: the recovery playbook without anything to recover, against a playbook of one ping."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.kit.playbooks import timed_playbook
from bench.kit.row import Options, Row, Timing
from bench.kit.timing import in_turns
from lab import Cluster
from lab.playbook import RECOVER

_GOAL = 1.4
_FEW = 3
_PING = Path(__file__).with_name("ping.yml")


def run(options: Options) -> Iterator[Row]:
    """Measure the playbook with few partitions and with many, in turns with the ping."""
    with Cluster(heap="1g") as cluster:
        variables = {
            "kafka_bootstrap_servers": cluster.bootstrap(),
            "unclean_recovery_all_offline_partitions": True,
            "unclean_recovery_automated_recovery": True,
        }
        for partitions in (_FEW, options.partitions):
            cluster.client.create_topic(f"healthy-{partitions}", dict.fromkeys(range(partitions), (1, 2, 3)))
            pings, looks = in_turns(
                options.repeats,
                lambda: timed_playbook(str(_PING), variables),
                lambda: timed_playbook(RECOVER, variables),
            )
            what = f"recovery playbook, {partitions} partitions, all well"
            yield Row(baseline=Timing("playbook of one ping", pings), measured=Timing(what, looks), goal=_GOAL)
