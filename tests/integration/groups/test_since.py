# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What clients and operators did with committed offsets since the election is not undone, unless somebody says so.

They use Kafka's own tool. The offsets are read by confluent-kafka.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from integration.groups.lost_tails import FIRST, GROUPS, ONLINE, commit, committed, lose, reader, replicas_of
from integration.on_call import OnCall
from integration.salvage.disks import salvage
from integration.strategies.outages import wait_isr
from lab import Cluster, settings, wait_until
from lab.playbook import run_playbook

_PLAYBOOK = "kafkaops.recovery.restore_groups"
_NONE = -1001
_ON_DISK = 9
"""What every group has committed by the dead broker's disk."""
_KEPT = {"untouched": 5, "goes-on": 5, "is-reset": 5, "loses-topic": 5, "is-deleted": 5}
"""What the new leader of __consumer_offsets has."""
_ONLY_ON_DISK = ("late", "deleted-elsewhere", "joined")
_SINCE = {"untouched": 5, "goes-on": 6, "is-reset": 2, "loses-topic": _NONE, "is-deleted": _NONE}
_WORDS = {
    "goes-on": "the group has committed 6 since the election, or somebody has reset it; the salvage has this commit",
    "is-reset": "the group has committed 2 since the election, or somebody has reset it; the salvage has this commit",
    "loses-topic": "it was deleted, or expired, since the election; the salvage has this commit",
    "is-deleted": "it was deleted, or expired, since the election; the salvage has this commit",
    "deleted-elsewhere": "the group was deleted, or its offsets expired, since the election; "
    "the salvage has this commit",
}


@pytest.mark.wide
@pytest.mark.timeout(600)
def test_what_was_done_since_the_election_stays(kafka_version: str, tmp_path: Path) -> None:
    properties = {
        "offsets.topic.num.partitions": 1,
        "broker.session.timeout.ms": 10_000,
        "log.cleaner.backoff.ms": 500,
    }
    with Cluster(kafka_version, brokers=4, properties=properties, proxied=True) as cluster:
        _break(cluster, tmp_path)
        everyone = (*_KEPT, *_ONLY_ON_DISK)
        _tool(
            cluster, "--delete", *(each for name in ("is-deleted", "deleted-elsewhere") for each in ("--group", name))
        )
        _tool(cluster, "--delete-offsets", "--group", "loses-topic", "--topic", ONLINE)
        _tool(cluster, "--reset-offsets", "--group", "is-reset", "--topic", ONLINE, "--to-offset", "2", "--execute")
        # Kafka does the same to a group whose last commit was lost and that has no members.
        _tool(cluster, "--delete", "--group", "joined")
        commit(cluster, "goes-on", 6)
        given: dict[str, object] = {
            "kafka_bootstrap_servers": cluster.bootstrap(),
            "group_recovery_salvage_dir": str(tmp_path / "saved"),
        }

        cluster.proxy.clear()
        plan = tmp_path / "plan.json"
        look = run_playbook(_PLAYBOOK, {**given, "group_recovery_manual_output_file": str(plan)})
        assert look.returncode == 2, look.output
        assert cluster.proxy.write_requests() == []
        steps = {each["group"]: each for each in json.loads(plan.read_text("utf-8"))["commits"]}
        left_alone = {name: each["reason"] for name, each in steps.items() if each["choice"] == "leave_alone"}
        if kafka_version.startswith("3.9"):
            # It writes no record about a group that never had members.
            left_alone["deleted-elsewhere"] = _WORDS["deleted-elsewhere"]
            assert f"deleted-elsewhere {ONLINE}-0: all offsets that the group had after the election" in look.words
        assert left_alone == _WORDS
        assert {name for name, each in steps.items() if each["choice"] == "give_back"} == {"untouched", "late"}
        assert f"joined {ONLINE}-0: the group was deleted since the election, by somebody or by Kafka" in look.words
        assert "name the group in group_recovery_overwrite_groups" in look.words

        # One more group is deleted after the plan, in which it had no offset.
        commit(cluster, "late", 1)
        _tool(cluster, "--delete", "--group", "late")
        go = {"group_recovery_automated_recovery": "true", "group_recovery_undo_file": str(tmp_path / "undo")}
        run = run_playbook(
            _PLAYBOOK,
            {"kafka_bootstrap_servers": cluster.bootstrap(), "group_recovery_plan_file": str(plan), **go},
        )
        assert run.returncode == 2, run.output
        assert "late at elsewhere-0: it was deleted" in run.words, run.output
        nothing = dict.fromkeys(_ONLY_ON_DISK, _NONE)
        assert {each: committed(cluster, each) for each in everyone} == {**_SINCE, **nothing, "untouched": _ON_DISK}

        refused = run_playbook(_PLAYBOOK, {**given, "group_recovery_overwrite_groups": "jioned"})
        assert refused.returncode == 2
        assert "group jioned was not found: did you mean joined?" in refused.words, refused.output
        named = "joined,is-reset,loses-topic"
        again = run_playbook(_PLAYBOOK, {**given, **go, "group_recovery_overwrite_groups": named})
        assert again.returncode == (2 if kafka_version.startswith("3.9") else 0), again.output
        assert {each: committed(cluster, each) for each in everyone} == {
            **_SINCE,
            **nothing,
            **dict.fromkeys(("untouched", *named.split(",")), _ON_DISK),
        }
        cluster.proxy.clear()
        last = run_playbook(_PLAYBOOK, {**given, **go, "group_recovery_overwrite_groups": named})
        assert (last.returncode, last.counts["changed"]) == (again.returncode, 0), last.output
        assert cluster.proxy.write_requests() == []

        _forget_deletions(cluster)
        unknown = run_playbook(_PLAYBOOK, {**given, **go})
        assert (unknown.returncode, unknown.counts["changed"]) == (2, 0), unknown.output
        assert "was compacted since the election, and deletions are not in it any more" in unknown.words
        assert committed(cluster, "is-deleted") == _NONE


def _break(cluster: Cluster, directory: Path) -> None:
    """Lose the commits at ``_ON_DISK``, and save them from the dead broker's disk."""
    commit(cluster, "first", 0, topic="")
    commit(cluster, "deleted-elsewhere", 0, topic=FIRST)
    dead, followers, witness = replicas_of(cluster, GROUPS)
    cluster.client.create_topic(ONLINE, {0: [witness]}, {"min.insync.replicas": 1})
    cluster.client.produce(ONLINE, 0, _ON_DISK)
    for group, offset in _KEPT.items():
        commit(cluster, group, offset)
    with reader(cluster, "joined") as member:
        member.subscribe([FIRST])
        while not member.assignment():
            member.poll(0.2)
    wait_isr(cluster, [GROUPS], {dead, *followers}, seen_by=dead)
    for each in followers:
        cluster.brokers[each].freeze()
    wait_isr(cluster, [GROUPS], {dead}, seen_by=dead)
    for group in (*_KEPT, *_ONLY_ON_DISK):
        commit(cluster, group, _ON_DISK)
    lose(OnCall(cluster, directory), GROUPS, dead, followers, witness)
    salvage(cluster, directory / "saved", log_dirs=cluster.brokers[dead].data_dirs)
    assert {group: committed(cluster, group) for group in _KEPT} == _KEPT


def _tool(cluster: Cluster, *arguments: str) -> None:
    where = ("--bootstrap-server", cluster.bootstrap(settings.INTERNAL))
    done = cluster.client.run_tool("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", *where, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr


def _forget_deletions(cluster: Cluster) -> None:
    """Let the log cleaner remove the tombstones, as it does after delete.retention.ms."""
    configs = "segment.ms=1000,min.cleanable.dirty.ratio=0.0,delete.retention.ms=0"
    cluster.client.run_tool(
        "kafka.admin.ConfigCommand",
        *("--bootstrap-server", cluster.bootstrap(settings.INTERNAL), "--alter"),
        *("--entity-type", "topics", "--entity-name", GROUPS, "--add-config", configs),
    ).check_returncode()
    leader = cluster.client.describe(GROUPS)[0].leader
    assert leader is not None

    def has_no_deletion() -> bool:
        # A new segment begins with a new record; the cleaner leaves the newest segment alone.
        commit(cluster, "first", 0, topic=FIRST)
        logs = [each for disk in cluster.brokers[leader].data_dirs for each in disk.glob(f"{GROUPS}-0/*.log")]
        return not any(b"is-deleted" in each.read_bytes() for each in logs)

    wait_until(has_no_deletion, 120, what="the tombstones are cleaned away")
