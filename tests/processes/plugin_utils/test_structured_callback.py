# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""With a callback that writes JSON, stdout is JSON and nothing else. What a person reads goes to stderr."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FAKE_CALLBACK = """
import json
from ansible.plugins.callback import CallbackBase

class CallbackModule(CallbackBase):
    CALLBACK_VERSION, CALLBACK_TYPE, CALLBACK_NAME = 2.0, "stdout", "fake_json"
    results = []
    def v2_runner_on_ok(self, result, **kwargs):
        self.results.append(result.result if hasattr(result, "result") else result._result)
    v2_runner_on_failed = v2_runner_on_ok
    def v2_playbook_on_stats(self, stats):
        self._display.display(json.dumps(self.results, default=str))
"""
"""Stands in for ansible.posix.json, which is not in ansible-core: it writes one JSON value at the end."""
PLAY = """
- hosts: localhost
  gather_facts: false
  tasks:
    - kafkaops.recovery.recovery_tables:
        result: {summary: {refused: 3}}
"""


def run(directory: Path, callback: str) -> subprocess.CompletedProcess[str]:
    (directory / "fake_json.py").write_text(FAKE_CALLBACK)
    (directory / "play.yml").write_text(PLAY)
    return subprocess.run(
        [Path(sys.executable).with_name("ansible-playbook"), "play.yml"],
        cwd=directory,
        env={
            **os.environ,
            "ANSIBLE_STDOUT_CALLBACK": callback,
            "ANSIBLE_CALLBACK_PLUGINS": str(directory),
            "ANSIBLE_COLLECTIONS_PATH": str(Path(sys.executable).parents[1] / "collections"),
        },
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_stdout_is_json(tmp_path: Path) -> None:
    ran = run(tmp_path, "fake_json")
    (result,) = json.loads(ran.stdout)
    assert "0 of 3 partitions can be recovered now" in result["text"][0]
    assert result["text"][0] in ran.stderr


@pytest.mark.parametrize("callback", ["default", "minimal"])
def test_otherwise_it_is_on_stdout(tmp_path: Path, callback: str) -> None:
    ran = run(tmp_path, callback)
    assert "0 of 3 partitions can be recovered now" in ran.stdout
    assert "0 of 3 partitions can be recovered now" not in ran.stderr
