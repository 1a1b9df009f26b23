# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tail of __consumer_offsets is lost: groups get what the dead broker's disk holds, by the playbook.

Committed offsets are read by confluent-kafka.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from integration.groups.killed import run_killed_before_each_write
from integration.groups.lost_tails import GROUPS, ONLINE, commit, committed, lose, reader, replicas_of
from integration.on_call import OnCall
from integration.salvage.disks import salvage
from integration.strategies.outages import wait_isr
from lab import Cluster
from lab.playbook import run_playbook

_PLAYBOOK = "kafkaops.recovery.restore_groups"
_RECORDS = 9
_KEPT = {"billing": 5, "live": 3, "ahead": 1000}
"""What the new leader of __consumer_offsets has."""
_ON_DISK = {"billing": 9, "live": 7, "ahead": 1000}
"""What the dead broker's disk has. One is beyond the log end."""


@dataclass(frozen=True)
class Outage:
    """A cluster whose groups went back, and the salvage of the dead broker's disk."""

    cluster: Cluster
    saved: Path

    def variables(self, **given: object) -> dict[str, object]:
        """Return the variables of the playbook, as a shell passes them."""
        return {
            "kafka_bootstrap_servers": self.cluster.bootstrap(),
            "group_recovery_salvage_dir": str(self.saved),
            **{f"group_recovery_{name}": value for name, value in given.items()},
        }

    def committed(self) -> dict[str, int]:
        return {group: committed(self.cluster, group) for group in _KEPT}


@pytest.fixture
def outage(kafka_version: str, tmp_path: Path) -> Iterator[Outage]:
    properties = {"offsets.topic.num.partitions": 1, "broker.session.timeout.ms": 10_000}
    with Cluster(kafka_version, brokers=4, properties=properties, proxied=True) as cluster:
        on_call = OnCall(cluster, tmp_path)
        commit(cluster, "first", 0, topic="")
        dead, followers, witness = replicas_of(cluster, GROUPS)
        cluster.client.create_topic(ONLINE, {0: [witness]}, {"min.insync.replicas": 1})
        cluster.client.produce(ONLINE, 0, _RECORDS)
        for group, offset in _KEPT.items():
            commit(cluster, group, offset)
        wait_isr(cluster, [GROUPS], {dead, *followers}, seen_by=dead)
        for each in followers:
            cluster.brokers[each].freeze()
        wait_isr(cluster, [GROUPS], {dead}, seen_by=dead)
        for group, offset in _ON_DISK.items():
            commit(cluster, group, offset)
        lose(on_call, GROUPS, dead, followers, witness)
        salvage(cluster, tmp_path / "saved", log_dirs=cluster.brokers[dead].data_dirs)
        found = Outage(cluster, tmp_path / "saved")
        assert found.committed() == _KEPT
        yield found


def test_groups_get_what_the_disk_holds(outage: Outage, tmp_path: Path) -> None:
    cluster, plan, before = outage.cluster, tmp_path / "plan.json", tmp_path / "before.csv"
    cluster.proxy.clear()
    look = run_playbook(_PLAYBOOK, outage.variables(manual_output_file=str(plan)))
    assert look.returncode == 2, look.output
    assert "3 committed offsets would be given back." in look.words, look.output
    assert f"-e group_recovery_plan_file={plan}" in look.words
    go = {
        "kafka_bootstrap_servers": cluster.bootstrap(),
        "group_recovery_plan_file": str(plan),
        "group_recovery_automated_recovery": "true",
        "group_recovery_undo_file": str(before),
    }
    checked = run_playbook(_PLAYBOOK, go, "--check", "--diff")
    assert checked.returncode == 0, checked.output
    assert cluster.proxy.write_requests() == [], "a look and check mode send no write"
    assert outage.committed() == _KEPT
    assert not before.exists()

    with reader(cluster, "live") as member:
        member.subscribe([ONLINE])
        while not member.assignment():
            member.poll(0.2)
        run = run_playbook(_PLAYBOOK, {**go, "group_recovery_report_file": str(tmp_path / "report.json")})
        assert run.returncode == 2, run.output
        assert "live at elsewhere-0: the group is" in run.words
        assert outage.committed() == {"billing": 9, "live": 3, "ahead": _RECORDS}, "a group with members is untouched"
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert (report["summary"]["given_back"], report["summary"]["has_members"]) == (2, 1)

    again = run_playbook(_PLAYBOOK, outage.variables(automated_recovery="true", undo_file=str(before)))
    assert again.returncode == 0, again.output
    assert outage.committed() == {"billing": 9, "live": 7, "ahead": _RECORDS}
    cluster.proxy.clear()
    last = run_playbook(_PLAYBOOK, outage.variables(automated_recovery="true"))
    assert (last.returncode, last.counts["changed"]) == (0, 0), last.output
    assert cluster.proxy.write_requests() == []
    assert run_playbook(_PLAYBOOK, outage.variables()).returncode == 0
    assert (before.read_text("utf-8"), Path(f"{before}-2").read_text("utf-8")) == (
        "ahead,elsewhere,0,1000\nbilling,elsewhere,0,5\n",
        "live,elsewhere,0,3\n",
    )
    cluster.client.delete_topic(ONLINE)
    deleted = run_playbook(_PLAYBOOK, outage.variables())
    assert deleted.returncode == 0, deleted.output
    assert "topics that do not exist any more are left out, with the groups' offsets: elsewhere" in deleted.words


@pytest.mark.wide
def test_a_run_that_is_killed_before_any_write_is_repeated(outage: Outage, tmp_path: Path) -> None:
    options = {
        "bootstrap_servers": [outage.cluster.bootstrap()],
        "salvage_dir": str(outage.saved),
        "apply": True,
        "undo_file": str(tmp_path / "before.csv"),
    }
    deaths, _last = run_killed_before_each_write(outage.cluster, options)
    assert "OffsetCommit" in deaths
    assert outage.committed() == {"billing": 9, "live": 7, "ahead": _RECORDS}
