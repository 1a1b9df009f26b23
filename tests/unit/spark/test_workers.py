# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Division of work, deadlines and the workers' code, without Spark."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.probe_task import divide_by_broker
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.tasks import distribute
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.workers import (
    Deadline,
    _this_boot,
    code_for_workers,
)
from unit.fakes.brokers import a_broker, a_partition

replica_lists = st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True).map(tuple)


@given(st.dictionaries(st.tuples(st.sampled_from("ab"), st.integers(0, 20)), replica_lists), st.integers(0, 8))
def test_every_replica_is_in_exactly_one_task(replicas: dict[tuple[str, int], tuple[int, ...]], slots: int) -> None:
    partitions = [a_partition(topic, number, brokers) for (topic, number), brokers in replicas.items()]
    work = divide_by_broker([a_broker(broker_id) for broker_id in range(6)], partitions)
    tasks = distribute(work, len, slots)
    found = Counter(
        (each.topic, each.partition, item.broker.broker_id, place)
        for task in tasks
        for item in task
        for each, place in item.replicas()
    )
    assert found == Counter(
        (topic, number, broker_id, place)
        for (topic, number), brokers in replicas.items()
        for place, broker_id in enumerate(brokers)
    )
    assert len(tasks) == min(len(work), max(slots, 1))
    assert all(tasks)


def test_one_broker_a_task_while_there_are_slots() -> None:
    work = divide_by_broker([], [a_partition("t", 0, (5, 3, 1))])
    assert [[item.broker.broker_id for item in task] for task in distribute(work, len, 4)] == [[1], [3], [5]]


def test_on_its_own_host_a_deadline_stays_the_same_instant() -> None:
    sent = pickle.dumps(Deadline.after_ms(5_000))
    time.sleep(0.05)
    assert pickle.loads(sent).remaining() <= 4.95


@pytest.mark.parametrize("boot", ["another host", None])
def test_from_another_or_an_unknown_host_a_deadline_arrives_as_what_was_left(boot: str | None) -> None:
    arrive, (at, left, _boot) = Deadline.after_ms(5_000).__reduce__()
    at_by_another_clock = at - 100
    assert 4.5 <= arrive(at_by_another_clock, left, boot).remaining() <= 5.0


def test_a_host_without_a_boot_id_is_unknown(tmp_path: Path) -> None:
    assert _this_boot(tmp_path / "absent") is None


def test_a_worker_can_import_the_collection_from_the_zip(tmp_path: Path) -> None:
    archive = code_for_workers(tmp_path)
    program = (
        f"import sys; sys.path.insert(1, {str(archive)!r});"
        "from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery import probe_task;"
        "print(probe_task.__file__)"
    )
    reported = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True).stdout
    assert reported.startswith(f"{archive}/ansible_collections/")


def test_in_a_module_the_workers_get_the_module_s_own_zip(tmp_path: Path) -> None:
    """AnsiballZ: a module runs from a zip file with its imports."""
    archive = code_for_workers(tmp_path)
    ansiballz = archive.rename(tmp_path / "ansible_replica_log_info_payload.zip")
    program = (
        f"import sys; sys.path.insert(0, {str(ansiballz)!r});"
        "from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.workers import code_for_workers;"
        "import pathlib; print(code_for_workers(pathlib.Path('/nonexistent')))"
    )
    reported = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True).stdout
    assert reported.strip() == str(ansiballz)


def test_the_zip_holds_code_only(tmp_path: Path) -> None:
    with zipfile.ZipFile(code_for_workers(tmp_path)) as zipped:
        assert all(name.endswith(".py") for name in zipped.namelist())
