# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A person who runs the printed commands, one after the other, gives the partitions a leader, and not in a circle."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from integration.groups.lost_tails import GROUPS, ONE_PARTITION, ONLINE, commit, lose_leader, replicas_of
from integration.strategies.outages import wait_isr
from lab import Cluster
from lab.playbook import RECOVER, typed
from lab.printed import printed_by


def follow(directory: Path, output: str, text: str) -> str:
    """Run the last command of the output, which comes after this text. Return what it prints."""
    assert text in " ".join(output.split()), output
    command = printed_by(output)[-1]
    return typed(directory, *shlex.split(command.replace("\\\n", ""))).output


@pytest.mark.wide
@pytest.mark.timeout(600)
def test_an_internal_topic_gets_its_leader_by_the_printed_steps(kafka_version: str, tmp_path: Path) -> None:
    """It is refused until it is asked for, and a bolder strategy would be refused in the same way."""
    properties = {**ONE_PARTITION, "broker.session.timeout.ms": 10_000}
    with Cluster(kafka_version, brokers=4, properties=properties) as cluster:
        cluster.client.create_topic(ONLINE, {0: [*cluster.brokers]}, {"min.insync.replicas": 1})
        commit(cluster, "billing", 5)
        dead, followers, witness = replicas_of(cluster, GROUPS)
        for each in followers:
            cluster.brokers[each].freeze()
        wait_isr(cluster, [GROUPS], {dead}, seen_by=dead)
        lose_leader(cluster, GROUPS, dead, followers, witness)
        given = ("-e", f"kafka_bootstrap_servers={cluster.bootstrap()}", "-e", f"unclean_recovery_lost_brokers={dead}")
        first = typed(tmp_path, "ansible-playbook", RECOVER, *given).output
        second = follow(tmp_path, first, "1. Look at the internal topics, too.")
        third = follow(tmp_path, second, "1. Carry it out:")
        assert "1 of 1 partition recovered" in " ".join(third.split()), third
        assert cluster.client.describe(GROUPS, broker=witness)[0].leader in followers
