# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A replay after one that was killed while it committed goes on at once, and gives nothing back twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen

import pytest
from kafka.protocol.api_key import ApiKey

from integration.salvage.test_lost_ledgers import give, save
from lab import Cluster
from lab.faults import Before, DisconnectError
from lab.module_process import start_module

pytestmark = [pytest.mark.wide, pytest.mark.timeout(600)]

_OLDER, _ALL = 30, 45
"""The lost records of a topic, and all that it has once these are given back."""


@pytest.fixture(scope="module")
def cluster(kafka_version: str) -> Iterator[Cluster]:
    one = {"transaction.state.log.min.isr": 1, "transaction.state.log.num.partitions": 1}
    with Cluster(kafka_version, properties=one, proxied=True) as started:
        yield started


@pytest.mark.parametrize("is_sent", [False, True])
def test_a_run_that_was_killed_while_it_committed_is_continued_at_once(
    cluster: Cluster, tmp_path: Path, *, is_sent: bool
) -> None:
    topic = f"killed-{is_sent}"
    saved = save(cluster, topic, tmp_path / "saved")
    runs: list[Popen[str]] = []

    def kill() -> None:
        runs[0].kill()
        if not is_sent:
            raise DisconnectError

    with cluster.proxy.inject(Before(kill), api_key=ApiKey.EndTxn, times=1):
        given = {"bootstrap_servers": [cluster.bootstrap()], "salvage_dir": str(saved), "target": "original"}
        runs.append(start_module("salvage_replay", given))
        runs[0].communicate()
    assert runs[0].returncode < 0
    began = time.monotonic()
    looked = give(cluster, saved, target="original", check_mode=True)
    assert "msg" not in looked, looked["msg"]
    again = give(cluster, saved, target="original")
    assert "msg" not in again, again["msg"]
    assert time.monotonic() - began < 55, "nothing waits for the timeout of the transaction"
    assert again["summary"]["given"] + again["summary"]["given_before"] == _OLDER
    values = cluster.client.consume_all(topic, 0)
    assert len(values) == _ALL
    assert [each for each in values if each.startswith("older-")] == [f"older-{n}" for n in range(_OLDER)]
