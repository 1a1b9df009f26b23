# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A restore of redundancy that is killed, and finished by another user elsewhere, beside another party's throttles."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from integration.redundancy.six_brokers import PARTITIONS, PLAYBOOK, RACKS, TOPIC, check_copies, six_brokers
from integration.redundancy.throttles import throttles
from lab import Cluster, wait_until
from lab.module_process import Account
from lab.playbook import RECOVER, PlaybookRun, run_as_a_person, run_playbook, signal_tree, start_playbook

pytestmark = [pytest.mark.wide, pytest.mark.timeout(900)]

_LOST = (3, 5)
_FOLLOWER, _LEADER = "follower.replication.throttled", "leader.replication.throttled"
_THEIRS = {
    (ResourceType.BROKER, "1", f"{_LEADER}.rate"): "70000000",
    (ResourceType.BROKER, "2", f"{_FOLLOWER}.rate"): "60000000",
    (ResourceType.BROKER, "4", f"{_FOLLOWER}.rate"): "400000",
    (ResourceType.TOPIC, TOPIC, f"{_LEADER}.replicas"): "0:1,1:2",
    (ResourceType.TOPIC, TOPIC, f"{_FOLLOWER}.replicas"): "0:6,1:2",
}
"""What another party has throttled: a lower rate than ours on broker 4, higher ones elsewhere, and some replicas."""


@pytest.fixture
def cluster(kafka_version: str) -> Iterator[Cluster]:
    with six_brokers(kafka_version, _LOST) as started:
        yield started


def throttle_as_another_party(cluster: Cluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap("INTERNAL"), "log_level": 0})
    for (kind, name, setting), value in _THEIRS.items():
        entry = ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(kind, name, incremental_configs=[entry])
        admin.incremental_alter_configs([resource])[resource].result(30)


def settings_now(cluster: Cluster) -> dict[tuple[ResourceType, str, str], str]:
    """Return the settings that the other party has set, and their values now."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap("INTERNAL"), "log_level": 0})
    found = {}
    for kind, name, setting in _THEIRS:
        resource = ConfigResource(kind, name)
        found[kind, name, setting] = str(admin.describe_configs([resource])[resource].result(30)[setting].value)
    return found


def elsewhere(cluster: Cluster, directory: Path, *words: str) -> PlaybookRun:
    """Run the playbook as another user, from another directory."""
    home = directory / "home"
    home.mkdir(parents=True)
    account = Account(4711, home)
    ansible = str(Path(sys.executable).with_name("ansible-playbook"))
    given = ["-e", f"kafka_bootstrap_servers={cluster.bootstrap()}", "-e", "redundancy_lost_brokers=3,5", *words]
    return run_as_a_person(
        [*account.command, ansible, PLAYBOOK, *given], home, 400, HOME=str(home), USER="", LOGNAME=""
    )


def is_throttled(cluster: Cluster) -> bool:
    """Return whether our rate is on a broker, and the copies have not begun."""
    return any(name == "6" for name, _setting in throttles(cluster, TOPIC))


def is_between_waves(cluster: Cluster) -> bool:
    """Return whether some partitions are whole again, and others are not begun."""
    states = cluster.client.describe(TOPIC).values()
    # A replica that a reassignment removes is listed until it ends. Half of the partitions had one.
    return 0 < sum(bool({*_LOST} & {*each.replicas}) for each in states) < PARTITIONS // 2


@pytest.mark.parametrize("moment", [is_throttled, is_between_waves], ids=lambda each: each.__name__)
def test_another_user_finishes_it_and_other_throttles_stay(
    cluster: Cluster, tmp_path: Path, moment: Callable[[Cluster], bool]
) -> None:
    throttle_as_another_party(cluster)
    given = {
        "kafka_bootstrap_servers": cluster.bootstrap(),
        "redundancy_lost_brokers": "3,5",
        "redundancy_automated_recovery": "true",
        "redundancy_throttle_bytes_per_second": "2000000",
        "redundancy_max_concurrent": "1",
    }
    run = start_playbook(PLAYBOOK, given)
    # The run sets one broker after the other.
    wait_until(lambda: moment(cluster) and settings_now(cluster) != _THEIRS, 120, what=moment.__name__)
    signal_tree(run.pid, signal.SIGKILL)
    run.wait()
    assert settings_now(cluster) != _THEIRS
    fresh = [name for name, _setting in throttles(cluster, TOPIC) if name == "6"]
    assert fresh, "the throttle of the killed run is gone already"

    done = elsewhere(cluster, tmp_path / "other", "-e", "redundancy_automated_recovery=true")
    assert done.returncode == 0, done.output
    check_copies(cluster)
    assert settings_now(cluster) == _THEIRS
    kept = sorted({name for _kind, name, _setting in _THEIRS})
    assert sorted({name for name, _setting in throttles(cluster, TOPIC)}) == kept, done.output


def test_a_source_that_dies_in_the_wave_is_named_and_its_copies_stay(cluster: Cluster, tmp_path: Path) -> None:
    given = {"kafka_bootstrap_servers": cluster.bootstrap(), "redundancy_lost_brokers": "3,5"}
    go = {"redundancy_automated_recovery": "true", "redundancy_throttle_bytes_per_second": "400000"}
    run = start_playbook(PLAYBOOK, {**given, **go, "redundancy_stall_timeout_ms": "20000"})
    wait_until(
        lambda: any(len(each.replicas) > 3 for each in cluster.client.describe(TOPIC).values()), 90, what="copies run"
    )
    # It is the only replica in sync of the partitions that have lost both others.
    cluster.brokers[1].kill()
    output, _nothing = run.communicate(timeout=600)
    words = " ".join(output.split())
    assert run.returncode == 2, output
    assert "it has no leader now: recover it first" in words, output
    assert "INVALID_REPLICA_ASSIGNMENT" not in words
    assert throttles(cluster, TOPIC) == []
    without_leader = {number: each for number, each in cluster.client.describe(TOPIC).items() if each.leader is None}
    assert len(without_leader) == PARTITIONS // 2
    assert all({4, 6} <= {*each.replicas} for each in without_leader.values()), "what was copied stays"

    cluster.brokers[1].start()
    asked = {
        "unclean_recovery_all_offline_partitions": "true",
        "unclean_recovery_automated_recovery": "true",
        "unclean_recovery_lost_brokers": "3,5",
    }
    recovered = run_playbook(RECOVER, {"kafka_bootstrap_servers": cluster.bootstrap(), **asked})
    assert recovered.returncode == 0, recovered.output
    assert {each.leader for number, each in cluster.client.describe(TOPIC).items() if number in without_leader} == {1}
    again = elsewhere(cluster, tmp_path / "other", "-e", "redundancy_automated_recovery=true")
    assert again.returncode == 0, again.output
    check_copies(cluster)
    assert throttles(cluster, TOPIC) == []


def test_racks_that_do_not_suffice_are_said_before_anything_is_written(kafka_version: str, tmp_path: Path) -> None:
    with six_brokers(kafka_version, (3, 4)) as cluster:
        before = cluster.client.describe(TOPIC)
        plan = tmp_path / "plan.json"
        given = {"kafka_bootstrap_servers": cluster.bootstrap(), "redundancy_lost_brokers": "3,4"}
        look = run_playbook(PLAYBOOK, {**given, "redundancy_manual_output_file": str(plan)})
        moves = json.loads(plan.read_text("utf-8"))["moves"]
        spread = [each for each in moves if {RACKS[one] for one in before[each["partition"]].replicas} == {*"abc"}]
        assert spread
        assert all("fewer racks than before" in str(each) for each in spread), look.output
        assert "fewer racks" in look.words
        assert cluster.client.describe(TOPIC) == before
        done = run_playbook(PLAYBOOK, {**given, "redundancy_automated_recovery": "true"})
        assert done.returncode == 0, done.output
        check_copies(cluster, racks=2)
