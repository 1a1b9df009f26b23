# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A role that writes, started on several hosts: one of those that name the same brokers acts. No broker is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
INVENTORY: dict[str, Any] = {
    "all": {
        "vars": {"ansible_python_interpreter": sys.executable},
        "hosts": {
            "unreachable": {"ansible_host": "127.0.0.1", "ansible_port": 1},
            "first": {"ansible_connection": "local"},
            "second": {"ansible_connection": "local"},
            "elsewhere": {"ansible_connection": "local", "kafka_bootstrap_servers": "localhost:2"},
        },
    }
}


@pytest.mark.parametrize("role", ["unclean_recovery", "leadership_drain", "log_cleaner_recovery"])
def test_one_host_of_a_cluster_acts_and_the_others_say_so(role: str, tmp_path: Path) -> None:
    inventory, play = tmp_path / "inventory.json", tmp_path / "play.yml"
    inventory.write_text(json.dumps(INVENTORY))
    tasks = [{"ansible.builtin.import_role": {"name": f"kafkaops.recovery.{role}"}}]
    variables = {"leadership_drain_brokers": [1], "unclean_recovery_all_offline_partitions": True}
    play.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": tasks, "vars": variables}]))
    ansible = Path(sys.executable).with_name("ansible-playbook")
    ran = subprocess.run([ansible, "-i", inventory, play], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "first acts for this cluster, and nothing is done from second" in ran.stdout
    assert "elsewhere acts" not in ran.stdout
    failed = {name for name in INVENTORY["all"]["hosts"] if f"fatal: [{name}]: FAILED!" in ran.stdout + ran.stderr}
    assert failed == {"first", "elsewhere"}, "they act, and there is no broker"
