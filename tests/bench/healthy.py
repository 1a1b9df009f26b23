# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A healthy cluster: what the recovery playbook costs where there is nothing to recover."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.kit.playbooks import timed_playbook
from bench.kit.row import Options, Row, Timing
from bench.kit.timing import in_turns
from lab import Cluster
from lab.playbook import PROJECT, RECOVER

_GOAL = 1.4
_FEW = 3
_PING, _FLOOR = (Path(__file__).with_name(name) for name in ("ping.yml", "floor.yml"))
_MODULES = tuple(Path(__file__).with_name(name) for name in ("one_request.py", "one_look.py"))
_PING_TASK = "ansible.builtin.ping:"
_REQUEST_TASK, _LOOK_TASK = (
    f"{each.stem}: {{bootstrap_servers: '{{{{ kafka_bootstrap_servers }}}}'}}" for each in _MODULES
)
_PLAY = """
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.import_role:
        name: unclean_recovery
"""


def run(options: Options) -> Iterator[Row]:
    """Measure the recovery playbook against one ansible.builtin.ping, on a small and a large cluster.

    Then the role without its modules, which is the least that any role of these options takes: with a ping in their
    place, with the least that a module of kafka-python does, and with the least that one of this collection does.
    """
    with Cluster(heap="1g") as cluster, TemporaryDirectory(prefix="kafkaops-bench-") as directory:
        for partitions in (_FEW, options.partitions):
            cluster.client.create_topic(f"healthy-{partitions}", dict.fromkeys(range(partitions), (1, 2, 3)))
            what = f"recovery playbook, {partitions} partitions, all well"
            yield _row(cluster, RECOVER, what, options.repeats, _GOAL)
        for task, what in (
            (_PING_TASK, "a ping"),
            (_REQUEST_TASK, "one request by kafka-python"),
            (_LOOK_TASK, "one look by this collection's connection"),
        ):
            playbook = _without_modules(Path(directory), task)
            yield _row(cluster, playbook, f"the same role, {what} for its modules", options.repeats)


def _row(cluster: Cluster, playbook: str, what: str, repeats: int, goal: float | None = None) -> Row:
    variables = {
        "kafka_bootstrap_servers": cluster.bootstrap(),
        "unclean_recovery_all_offline_partitions": True,
        "unclean_recovery_automated_recovery": True,
    }
    pings, looks = in_turns(
        repeats, lambda: timed_playbook(str(_PING), variables), lambda: timed_playbook(playbook, variables)
    )
    return Row(baseline=Timing("playbook of one ping", pings), measured=Timing(what, looks), goal=goal)


def _without_modules(directory: Path, task: str) -> str:
    """Return a playbook of a copy of the role, with the tasks of floor.yml, ``task`` in place of the ping."""
    role = directory / "roles" / "unclean_recovery"
    shutil.copytree(PROJECT / "roles" / "unclean_recovery", role, dirs_exist_ok=True)
    shutil.rmtree(role / "tasks")
    (role / "tasks").mkdir()
    tasks = _FLOOR.read_text(encoding="utf-8").replace(_PING_TASK, task)
    (role / "tasks" / "main.yml").write_text(tasks, encoding="utf-8")
    (role / "library").mkdir(exist_ok=True)
    for module in _MODULES:
        shutil.copy(module, role / "library")
    playbook = directory / "floor.yml"
    playbook.write_text(_PLAY, encoding="utf-8")
    return str(playbook)
