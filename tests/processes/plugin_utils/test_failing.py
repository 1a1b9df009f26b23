# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A task that fails prints its message once, and the message stays in its result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible.playbook.task import Task

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.failing import printed_once

SUMMARY = {"kafkaops.recovery.recovery_tables": {"result": {"summary": {"refused": 3}}, "accepted": []}}
MODULE = {"kafkaops.recovery.offline_partition_info": {"bootstrap_servers": "localhost:1", "request_timeout_ms": 2000}}
VARIABLES = {"kafkaops.recovery.role_variables": {"role": "unclean_recovery"}}


def run(
    directory: Path, *tasks: dict[str, Any], stderr: int = subprocess.STDOUT, **more: str
) -> subprocess.CompletedProcess[str]:
    play = [
        {
            "hosts": "localhost",
            "gather_facts": False,
            "tasks": list(tasks),
            "vars": {"unclean_recovery_strategy": "balancd", "unclean_recovery_duration_ms": "abc"},
        }
    ]
    (directory / "play.yml").write_text(json.dumps(play))
    return subprocess.run(
        [Path(sys.executable).with_name("ansible-playbook"), "play.yml"],
        cwd=directory,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(Path(sys.executable).parents[1] / "collections"), **more},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (SUMMARY, "3 of 3 partitions are not recovered"),
        (MODULE, "no broker answered DescribeCluster"),
        (MODULE | {"failed_when": "result.partitions is not defined", "register": "result"}, "no broker answered"),
        (VARIABLES, "balancd is not one of none, balanced, aggressive, from_config; did you mean balanced?"),
    ],
)
def test_the_message_is_printed_once(tmp_path: Path, task: dict[str, Any], message: str) -> None:
    ran = run(tmp_path, task)
    assert ran.returncode == 2
    assert ran.stdout.count(message) == 1, ran.stdout
    (line,) = (each for each in ran.stdout.splitlines() if message in each)
    assert line.startswith("fatal: [localhost]: FAILED!")


def test_failed_elections_are_on_stderr_for_those_who_ask_for_it(tmp_path: Path) -> None:
    """KAFKA-20098. The setting is Ansible's own, and docs/other_tools.md names it."""
    partition = {"topic": "orders", "partition": 3, "status": "failed"}
    tables: dict[str, Any] = {"result": {"summary": {"failed": 1}, "partitions": [partition]}, "accepted": []}
    task = {"kafkaops.recovery.recovery_tables": tables | {"tables": []}}
    ran = run(tmp_path, task, stderr=subprocess.PIPE, ANSIBLE_DISPLAY_FAILED_STDERR="true")
    assert "1 of 1 partition is not recovered: 1 failed (orders 3)" in ran.stderr
    assert "orders 3" not in ran.stdout


def test_every_wrong_variable_is_in_one_line(tmp_path: Path) -> None:
    ran = run(tmp_path, VARIABLES)
    (line,) = (each for each in ran.stdout.splitlines() if "balancd" in each)
    assert "unclean_recovery_duration_ms: abc is not a whole number. Nothing was read or changed." in line
    assert "\\n" not in line


def test_the_message_is_in_what_a_rescue_reads(tmp_path: Path) -> None:
    shown = {"ansible.builtin.debug": {"msg": "rescued: {{ ansible_failed_result.msg }}"}}
    ran = run(tmp_path, {"block": [SUMMARY], "rescue": [shown]})
    assert ran.returncode == 0
    assert "rescued: 3 of 3 partitions are not recovered" in ran.stdout


@pytest.mark.parametrize(
    "result", [{"changed": True}, {"failed": True}, {"failed": True, "msg": "MODULE FAILURE", "exception": "Traceback"}]
)
def test_other_results_stay_as_they_are(result: dict[str, Any]) -> None:
    assert printed_once(result, Task(), {}) is result
