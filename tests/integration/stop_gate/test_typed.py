# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stop gate as it is typed, from another directory: its words, and what happens when exactly these brokers stop."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from campaign.stops.__main__ import SETS, run_seed
from campaign.stops.typed import Typed, check_stop, spellings
from lab import Cluster

pytestmark = [pytest.mark.wide, pytest.mark.timeout(900)]

_SEEDS = (6, 11, 12, 13, 17)


@pytest.mark.parametrize("seed", _SEEDS)
def test_what_the_playbook_says_happens(cluster: Cluster, tmp_path: Path, seed: int) -> None:
    verdict = run_seed(cluster, seed, cluster.version, asking=Typed(random.Random(seed), tmp_path))
    assert verdict.is_clean, verdict.notes
    assert verdict.sets == SETS
    assert cluster.proxy.write_requests() == []


def test_each_spelling_gets_the_same_answer(cluster: Cluster, tmp_path: Path) -> None:
    cluster.client.create_topic("orders", {0: [1, 3, 5], 1: [2, 4, 5]}, {"min.insync.replicas": 2})
    for each in spellings([1, 2]):
        ran = check_stop(cluster, tmp_path, each)
        assert (ran.returncode, "YES: brokers 1, 2 may stop now." in ran.words) == (0, True), (each, ran.output)
    for each in spellings([1, 3]):
        ran = check_stop(cluster, tmp_path, each)
        assert (ran.returncode, "NO: brokers 1, 3 must not stop now: 1 reason." in ran.words) == (2, True), each


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["stop_gate_brokers=9"], "the cluster has no broker 9; its brokers are 1, 2, 3, 4, 5"),
        (["stop_gate_brokers=1,9"], "the cluster has no broker 9; its brokers are 1, 2, 3, 4, 5"),
        (["stop_gate_racks=z"], "no broker is in rack z; the racks are a, b, c"),
        (["stop_gate_racks=a,z"], "no broker is in rack z; the racks are a, b, c"),
        (["stop_gate_racks=A"], "no broker is in rack A; the racks are a, b, c"),
        (["stop_gate_sets=1+2,3+9"], "the cluster has no broker 9"),
        (["stop_gate_brokers="], "stop_gate_brokers is empty: give a value"),
        (['{"stop_gate_brokers": ""}'], "stop_gate_brokers is empty: give a value"),
        (['{"stop_gate_brokers": []}'], "name the brokers that are to stop"),
        (['{"stop_gate_racks": [""]}'], "rack"),
        (["stop_gate_sets="], "stop_gate_sets is empty: give a value"),
        (['{"stop_gate_brokers": [], "stop_gate_racks": []}'], "name the brokers that are to stop"),
        (["stop_gate_brokers=2-1"], "2-1"),
        (["stop_gate_brokers=-1"], "-1"),
        (["stop_gate_brokers=one"], "one"),
        (["stop_gate_brokers=1+2"], "1+2"),
        (["stop_gate_sets=1+"], "1+"),
        (["stop_gate_broker=1"], "stop_gate_broker"),
        ([], "name the brokers that are to stop"),
    ],
    ids=str,
)
def test_what_names_no_brokers_is_never_a_yes(cluster: Cluster, tmp_path: Path, words: list[str], said: str) -> None:
    cluster.client.create_topic("orders", {0: [1, 3, 5]}, {"min.insync.replicas": 1})
    ran = check_stop(cluster, tmp_path, *words)
    assert ran.returncode == 2, ran.output
    assert said in ran.words, ran.output
    assert "YES" not in ran.output
    assert "Traceback" not in ran.output


def test_sets_one_after_the_other_and_brokers_that_are_down(cluster: Cluster, tmp_path: Path) -> None:
    cluster.client.create_topic("orders", {0: [1, 3, 5], 1: [2, 4, 5]}, {"min.insync.replicas": 2})
    for word in ("stop_gate_sets=1+2,3+4,5", '{"stop_gate_sets": ["2+1", "3+4", "5"]}'):
        waves = check_stop(cluster, tmp_path, word)
        assert waves.returncode == 0, waves.output
        assert "YES: brokers 1, 2; then brokers 3, 4; then broker 5 may stop now." in waves.words
    one_bad = check_stop(cluster, tmp_path, "stop_gate_sets=1+2,3+5", "stop_gate_report_file=sets.json")
    assert one_bad.returncode == 2, one_bad.output
    stops = json.loads((tmp_path / "sets.json").read_text("utf-8"))["stops"]
    assert [(each["brokers"], each["verdict"]) for each in stops] == [([1, 2], "yes"), ([3, 5], "no")]

    cluster.brokers[3].kill()
    for words, status in (
        (["stop_gate_brokers=3"], 0),
        (["stop_gate_brokers=3,4"], 0),
        (["stop_gate_racks=b"], 0),
        (["stop_gate_brokers=1"], 2),
        (["stop_gate_brokers=1,3"], 2),
    ):
        ran = check_stop(cluster, tmp_path, *words)
        assert ran.returncode == status, (words, ran.output)
