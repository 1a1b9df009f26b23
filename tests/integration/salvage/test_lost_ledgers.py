# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The topic of the ledgers loses what a replay wrote there: no record is given back twice, and none is lost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lab import Cluster
from lab.module_process import run_module
from lab.scenarios import longer_log_of_older_epoch, wait_isr, wait_offline

pytestmark = [pytest.mark.wide, pytest.mark.timeout(600)]

_COMMON, _OLDER, _NEWER = 10, 30, 5
_LEDGERS = "_kafkaops_salvage"
_OF_TRANSACTIONS = {"transaction.state.log.min.isr": 1, "transaction.state.log.num.partitions": 1}
_HOLDER, _BEHIND = 5, 4
"""The brokers of the ledgers, which have no other replica. The first one leads, and dies."""


def test_records_are_given_back_once(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, brokers=5, properties=_OF_TRANSACTIONS) as cluster:
        saved = {name: save(cluster, name, tmp_path / name) for name in ("first", "second")}
        cluster.client.create_topic(
            _LEDGERS, {0: [_HOLDER, _BEHIND]}, {"cleanup.policy": "compact", "min.insync.replicas": 1}
        )
        give(cluster, saved["first"], target="original")
        cluster.brokers[_BEHIND].freeze()
        wait_isr(cluster, _LEDGERS, {_HOLDER}, seen_by=_HOLDER)
        for target in ("original", "side"):
            assert give(cluster, saved["second"], target=target)["summary"]["given"] == _OLDER
        cluster.brokers[_HOLDER].kill()
        cluster.brokers[_BEHIND].thaw()
        wait_offline(cluster, _LEDGERS, away={_HOLDER}, seen_by=_BEHIND)
        unled = give(cluster, saved["second"], target="original")
        assert f"topic {_LEDGERS}" in unled["msg"]
        assert "has no leader" in unled["msg"]
        cluster.client.elect_unclean(_LEDGERS, [0])

        looked = give(cluster, saved["second"], target="original", check_mode=True)
        assert (looked["changed"], looked["summary"]["given_before"]) == (False, _OLDER), looked
        for target in ("original", "side"):
            again = give(cluster, saved["second"], target=target)
            assert "msg" not in again, again["msg"]
            assert (again["summary"]["given"], again["summary"]["given_before"]) == (0, _OLDER), again
        for topic, common in (("first", _COMMON + _NEWER), ("second", _COMMON + _NEWER), ("second.salvaged", 0)):
            values = cluster.client.consume_all(topic, 0)
            assert len(values) == common + _OLDER
            assert [each for each in values if each.startswith("older-")] == [f"older-{n}" for n in range(_OLDER)]


def test_a_side_topic_gets_no_record_again_by_another_topic_of_ledgers(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, brokers=3, properties=_OF_TRANSACTIONS) as cluster:
        saved = save(cluster, "orders", tmp_path / "saved")
        assert give(cluster, saved, target="side")["summary"]["given"] == _OLDER
        for options in ({"check_mode": True}, {}):
            again = give(cluster, saved, target="side", progress_topic="another", **options)
            assert "msg" not in again, again["msg"]
            assert (again["summary"]["to_give"], again["summary"]["given_before"]) == (0, _OLDER), again
        assert len(cluster.client.consume_all("orders.salvaged", 0)) == _OLDER


def save(cluster: Cluster, topic: str, directory: Path, config: Mapping[str, object] | None = None) -> Path:
    """Lose a topic's records, and save them before the election."""
    offline = longer_log_of_older_epoch(cluster, topic, 1, records=(_COMMON, _OLDER, _NEWER), config=config)
    where = {"bootstrap_servers": [cluster.bootstrap()]}
    plan = str(directory.with_suffix(".json"))
    wanted = [{"topic": topic, "partitions": [0]}]
    run_module(
        "leader_candidate_info", {**where, "recovery_strategy": "aggressive", "partitions": wanted, "plan_file": plan}
    )
    given = {**where, "plan_file": plan, "salvage": "required", "salvage_dir": str(directory)}
    done = run_module("designated_election", given)
    assert "msg" not in done, done["msg"]
    cluster.brokers[offline.replicas[0]].start()
    wait_isr(cluster, topic, {*offline.replicas}, seen_by=offline.best)
    return directory


def give(cluster: Cluster, saved: Path, *, check_mode: bool = False, **options: object) -> Mapping[str, Any]:
    given = {"bootstrap_servers": [cluster.bootstrap()], "salvage_dir": str(saved), **options}
    return run_module("salvage_replay", given, check_mode=check_mode)
