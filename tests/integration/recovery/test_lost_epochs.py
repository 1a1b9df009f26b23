# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A replica whose epoch checkpoint is lost or too old is compared by the headers of its batches, on real brokers."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from integration.on_call import OnCall
from lab import Cluster, scenarios
from lab.module_process import run_module
from lab.waiting import wait_until

_COMMON, _LONGER = 100, 50
_RECORDS = (_COMMON, _LONGER, 10)
Damage = Callable[[Path], None]
"""Changes the directory of a partition while its broker is stopped."""


def _remove(directory: Path) -> None:
    (directory / "leader-epoch-checkpoint").unlink()


def _empty(directory: Path) -> None:
    (directory / "leader-epoch-checkpoint").write_text("0\n0\n")


def _keep_first_epoch(directory: Path) -> None:
    checkpoint = directory / "leader-epoch-checkpoint"
    version, count, first, *_others = checkpoint.read_text().splitlines()
    assert int(count) > 1
    checkpoint.write_text(f"{version}\n1\n{first}\n")


def _remove_from_batches(directory: Path) -> None:
    """Remove the leader epoch of each batch too, which its checksum does not cover."""
    _remove(directory)
    path = directory / "00000000000000000000.log"
    content, position = bytearray(path.read_bytes()), 0
    while position < len(content):
        struct.pack_into(">i", content, position + 12, -1)
        position += 12 + struct.unpack_from(">i", content, position + 8)[0]
    path.write_bytes(content)


def _write_in_old_format(directory: Path) -> None:
    """Replace the log by as many records of format 1, which has no leader epochs (Kafka 0.10)."""
    _remove(directory)
    content = b""
    for offset in range(_COMMON + _LONGER):
        value = f"old-{offset}".encode()
        message = struct.pack(">bbqii", 1, 0, 1_700_000_000_000, -1, len(value)) + value
        message = struct.pack(">I", zlib.crc32(message)) + message
        content += struct.pack(">qi", offset, len(message)) + message
    (directory / "00000000000000000000.log").write_bytes(content)


def _damage(cluster: Cluster, broker: int, topic: str, damage: Damage, *, seen_by: int) -> None:
    node = cluster.brokers[broker]
    node.stop()
    for directory in node.data_dirs:
        if (found := directory / f"{topic}-0").is_dir():
            damage(found)
    node.start()
    wait_until(
        lambda: broker not in cluster.client.describe(topic, broker=seen_by)[0].offline_replicas,
        60,
        what=f"broker {broker} is back",
    )


def _recover(on_call: OnCall, topic: str) -> Outcome:
    (outcome,) = on_call.carry_out(on_call.plan(Strategy.AGGRESSIVE, topic))
    return outcome


def test_the_replica_that_lost_its_epochs_leads_with_all_its_records(cluster: Cluster, on_call: OnCall) -> None:
    offline = scenarios.diverged(cluster, "epochs", records=_RECORDS)
    _dead, shorter, longer = offline.replicas
    _damage(cluster, longer, "epochs", _remove, seen_by=shorter)
    outcome = _recover(on_call, "epochs")
    assert (outcome.status, outcome.leader_after) == (Status.RECOVERED, longer)
    assert f"the leader-epoch-checkpoint of broker {longer} is lost or too old" in outcome.reason
    assert len(cluster.client.consume_all("epochs", 0)) == _COMMON + _LONGER


@pytest.mark.wide
@pytest.mark.parametrize("damage", [_remove, _empty, _keep_first_epoch], ids=["missing", "empty", "too old"])
def test_lost_epochs_do_not_change_the_ranking(cluster: Cluster, on_call: OnCall, damage: Damage) -> None:
    """The best replica ends in a newer epoch than the longer one, whatever its checkpoint says."""
    topic = f"ranking{damage.__name__}"
    offline = scenarios.longer_log_of_older_epoch(cluster, topic)
    _dead, older, newer = offline.replicas
    expected = on_call.plan(Strategy.AGGRESSIVE, topic)
    _damage(cluster, newer, topic, damage, seen_by=older)
    plan = on_call.plan(Strategy.AGGRESSIVE, topic)
    assert [each.lineage for each in plan.elections[0].candidates] == [
        each.lineage for each in expected.elections[0].candidates
    ]
    outcome = on_call.carry_out(plan)[0]
    assert (outcome.status, outcome.leader_after) == (Status.RECOVERED, newer)
    assert cluster.client.consume_all(topic, 0)[-1].startswith("newer-")


@pytest.mark.wide
@pytest.mark.parametrize("damage", [_remove, _empty, _keep_first_epoch], ids=["missing", "empty", "too old"])
def test_logs_of_the_same_length_are_compared_by_their_batches(
    cluster: Cluster, on_call: OnCall, damage: Damage
) -> None:
    """The first in order has as many records as the best, of an older epoch."""
    topic = f"length{damage.__name__}"
    offline = scenarios.longer_log_of_older_epoch(cluster, topic, records=(10, 5, 5))
    _dead, older, newer = offline.replicas
    _damage(cluster, newer, topic, damage, seen_by=older)
    outcome = _recover(on_call, topic)
    assert (outcome.status, outcome.leader_after) == (Status.RECOVERED, newer)
    assert "offsets 10..14 (5 records)" in outcome.reason
    assert cluster.client.consume_all(topic, 0)[-1].startswith("newer-")


@pytest.mark.wide
@pytest.mark.parametrize("damage", [_remove, _keep_first_epoch], ids=["missing", "too old"])
def test_what_a_leader_without_its_epochs_lacks_is_saved_from_a_disk(
    cluster: Cluster, on_call: OnCall, tmp_path: Path, damage: Damage
) -> None:
    """An elected leader begins a new checkpoint with its own epoch: all earlier records seem to be of any epoch."""
    topic = f"disk{damage.__name__}"
    offline = scenarios.longer_log_of_older_epoch(cluster, topic)
    _dead, older, newer = offline.replicas
    _damage(cluster, newer, topic, damage, seen_by=older)
    cluster.brokers[older].stop()
    wait_until(
        lambda: older in cluster.client.describe(topic, broker=newer)[0].offline_replicas,
        60,
        what=f"broker {older} is away",
    )
    outcome = _recover(on_call, topic)
    assert (outcome.status, outcome.leader_after) == (Status.RECOVERED, newer)
    done = run_module(
        "replica_log_salvage",
        {
            "bootstrap_servers": [cluster.bootstrap()],
            "log_dirs": [*map(str, cluster.brokers[older].data_dirs)],
            "salvage_dir": str(tmp_path / "saved"),
            "topics": [topic],
        },
    )
    assert "msg" not in done, done["msg"]
    rows = pq.read_table(tmp_path / "saved" / "records").to_pylist()
    assert [row["value"].decode() for row in rows] == [f"older-{number}" for number in range(20)]


@pytest.mark.wide
@pytest.mark.parametrize("damage", [_remove, _keep_first_epoch], ids=["missing", "too old"])
def test_lost_epochs_of_a_replica_that_was_silent_in_the_plan_are_found(
    cluster: Cluster, on_call: OnCall, damage: Damage
) -> None:
    topic = f"returned{damage.__name__}"
    offline = scenarios.longer_log_of_older_epoch(cluster, topic)
    _dead, older, newer = offline.replicas
    cluster.brokers[newer].stop()
    wait_until(
        lambda: newer in cluster.client.describe(topic, broker=older)[0].offline_replicas,
        60,
        what=f"broker {newer} is away",
    )
    plan = on_call.plan(Strategy.AGGRESSIVE, topic)
    assert [each.designated_leader for each in plan.elections] == [older]
    _damage(cluster, newer, topic, damage, seen_by=older)
    (outcome,) = on_call.carry_out(plan)
    assert outcome.status is Status.REFUSED
    assert f"replica {newer}, silent in the plan, answers now and holds more" in outcome.reason


@pytest.mark.wide
def test_a_replica_that_cannot_be_compared_is_never_passed_over_in_silence(
    cluster: Cluster, on_call: OnCall, tmp_path: Path
) -> None:
    offline = scenarios.diverged(cluster, "old", records=_RECORDS)
    _dead, shorter, longer = offline.replicas
    _damage(cluster, longer, "old", _write_in_old_format, seen_by=shorter)
    outcome = _recover(on_call, "old")
    assert outcome.status is Status.REFUSED
    assert f"what broker {longer} holds cannot be compared" in outcome.reason
    assert "no leader epoch (a format before 0.11)" in outcome.reason
    options: dict[str, Any] = {
        "bootstrap_servers": [cluster.bootstrap()],
        "recovery_strategy": "aggressive",
        "designations": [{"topic": "old", "partition": 0, "designated_leader": shorter}],
        "salvage_dir": str(tmp_path / "saved"),
    }
    required = run_module("unclean_recovery", {**options, "salvage": "required"})
    (row,) = required["partitions"]
    assert row["status"] == "refused"
    assert (
        f"offsets {_COMMON} to {_COMMON + _LONGER - 1}, which only broker {longer} holds, were not saved"
        in (row["reason"])
    )
    done = run_module("unclean_recovery", {**options, "salvage": "best_effort"})
    (row,) = done["partitions"]
    assert (row["status"], row["leader_after"]) == ("recovered", shorter)
    left = [each["explanation"] for each in done["aftermath"] if each["kind"] == "will_truncate"]
    assert any(each.startswith(f"replica {longer} deletes offsets {_COMMON}..{_COMMON + _LONGER - 1}") for each in left)


@pytest.mark.wide
def test_records_that_cannot_be_compared_are_saved_before_they_are_deleted(cluster: Cluster, tmp_path: Path) -> None:
    offline = scenarios.diverged(cluster, "unknown", records=_RECORDS)
    _dead, shorter, longer = offline.replicas
    _damage(cluster, longer, "unknown", _remove_from_batches, seen_by=shorter)
    saved = tmp_path / "saved"
    done = run_module(
        "unclean_recovery",
        {
            "bootstrap_servers": [cluster.bootstrap()],
            "recovery_strategy": "aggressive",
            "designations": [{"topic": "unknown", "partition": 0, "designated_leader": shorter}],
            "salvage": "required",
            "salvage_dir": str(saved),
        },
    )
    assert "msg" not in done, done["msg"]
    assert done["loss"]["at_least"] == _LONGER
    rows = pq.read_table(saved / "records").to_pylist()
    assert [row["value"].decode() for row in rows] == [f"longer-{number}" for number in range(_LONGER)]
    assert cluster.client.log_end_offset("unknown", 0, shorter) == _COMMON
