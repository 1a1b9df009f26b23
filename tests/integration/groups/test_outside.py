# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Groups outside of the log continue at its start, at its end, or at a time, without any salvage."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from integration.groups.lost_tails import ONLINE, commit, committed
from lab import Cluster, settings
from lab.playbook import run_playbook

_PLAYBOOK = "kafkaops.recovery.restore_groups"


@pytest.mark.wide
def test_groups_outside_of_the_log_continue_at_its_start_or_end(kafka_version: str, tmp_path: Path) -> None:
    # With 50 partitions of __consumer_offsets, so that groups have three coordinators.
    with Cluster(kafka_version, brokers=3, proxied=True) as cluster:
        cluster.client.create_topic(ONLINE, {0: [1]}, {"min.insync.replicas": 1})
        cluster.client.produce(ONLINE, 0, 9)
        nobody = run_playbook(_PLAYBOOK, {"kafka_bootstrap_servers": cluster.bootstrap(), "group_recovery_groups": "b"})
        assert "group b was not found: there is no __consumer_offsets, as before the first commit" in nobody.words
        well = ["billing", "reader", "shipping", "orders", "audit"]
        for group, offset in {"behind": 2, "ahead": 1000, **dict.fromkeys(well, 6)}.items():
            commit(cluster, group, offset)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL)})
        (deleted,) = admin.delete_records([TopicPartition(ONLINE, 0, 4)]).values()
        assert deleted.result(30).low_watermark == 4

        given = {"kafka_bootstrap_servers": cluster.bootstrap()}
        cluster.proxy.clear()
        look = run_playbook(_PLAYBOOK, given)
        assert look.returncode == 2, look.output
        assert "behind elsewhere-0 below start would give back 2 - 4" in look.words
        assert "ahead elsewhere-0 beyond end would give back 1000 - 9" in look.words
        assert cluster.proxy.write_requests() == []

        go = {**given, "group_recovery_automated_recovery": "true", "group_recovery_undo_file": str(tmp_path / "undo")}
        one = run_playbook(_PLAYBOOK, {**go, "group_recovery_groups": "behind"})
        assert one.returncode == 0, one.output
        assert {each: committed(cluster, each) for each in ("behind", "ahead")} == {"behind": 4, "ahead": 1000}
        every = run_playbook(_PLAYBOOK, go)
        assert every.returncode == 0, every.output
        assert {each: committed(cluster, each) for each in ("behind", "ahead", *well)} == {
            "behind": 4,
            "ahead": 9,
            **dict.fromkeys(well, 6),
        }
        assert run_playbook(_PLAYBOOK, given).returncode == 0
        absent = run_playbook(_PLAYBOOK, {**given, "group_recovery_groups": "ahead,behnd"})
        assert absent.returncode == 2, absent.output
        assert "group behnd was not found: did you mean behind?" in absent.words


@pytest.mark.wide
def test_groups_beyond_the_end_continue_at_a_time(kafka_version: str, tmp_path: Path) -> None:
    """Records that were written after the election, and before this, are read."""
    times = [datetime(2026, 1, 31, 2, minute, tzinfo=UTC) for minute in range(8)]
    with Cluster(kafka_version, brokers=1, proxied=True) as cluster:
        cluster.client.create_topic(ONLINE, {0: [1]}, {"message.timestamp.before.max.ms": 2**62, "retention.ms": -1})
        producer = Producer({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL)})
        for each in times:
            producer.produce(ONLINE, str(each), timestamp=round(each.timestamp() * 1000))
        assert producer.flush(60) == 0
        for group, offset in {"ahead": 1000, "inside": 6}.items():
            commit(cluster, group, offset)

        given = {"kafka_bootstrap_servers": cluster.bootstrap()}
        for wrong in ("yesterday", "2026-01-31T02:00:00", "2999-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z"):
            refused = run_playbook(_PLAYBOOK, {**given, "group_recovery_beyond_end_time": wrong})
            assert refused.returncode == 2, refused.output
            assert f"beyond_end_time is '{wrong}'" in refused.words, refused.output

        plan = tmp_path / "plan.json"
        timed = {**given, "group_recovery_beyond_end_time": "2026-01-31T03:03:30+01:00"}
        cluster.proxy.clear()
        look = run_playbook(_PLAYBOOK, {**timed, "group_recovery_manual_output_file": str(plan)})
        assert look.returncode == 2, look.output
        assert "ahead elsewhere-0 beyond end would give back 1000 - 4" in look.words, look.output
        assert "the first record at 2026-01-31T02:03:30Z or after" in look.words
        assert "inside" not in look.words
        undo = tmp_path / "undo"
        go = {"group_recovery_automated_recovery": "true", "group_recovery_undo_file": str(undo)}
        both = run_playbook(_PLAYBOOK, {**timed, **go, "group_recovery_plan_file": str(plan)})
        assert both.returncode == 2, both.output
        assert "a plan says itself where groups continue" in both.words
        checked = run_playbook(_PLAYBOOK, {**timed, **go}, "--check", "--diff")
        assert checked.returncode == 0, checked.output
        assert cluster.proxy.write_requests() == [], "looks, refusals and check mode send no write"
        run = run_playbook(_PLAYBOOK, {**given, **go, "group_recovery_plan_file": str(plan)})
        assert run.returncode == 0, run.output
        assert {each: committed(cluster, each) for each in ("ahead", "inside")} == {"ahead": 4, "inside": 6}
        assert undo.read_text("utf-8") == "ahead,elsewhere,0,1000\n"

        # No record is so new: the log end. The time is that of the next command, too.
        commit(cluster, "late", 50)
        timed["group_recovery_beyond_end_time"] = "2026-01-31T02:30:00Z"
        look = run_playbook(_PLAYBOOK, timed)
        assert "late elsewhere-0 beyond end would give back 50 - 8" in look.words, look.output
        assert "-e group_recovery_beyond_end_time=2026-01-31T02:30:00Z" in look.words
        last = run_playbook(_PLAYBOOK, {**timed, **go})
        assert last.returncode == 0, last.output
        assert committed(cluster, "late") == 8
        assert run_playbook(_PLAYBOOK, timed).returncode == 0
