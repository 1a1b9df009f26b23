# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A pattern that matches no host is an error: a play that Ansible skips has the exit status of "yes, they may stop"."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("playbook", sorted((ROOT / "playbooks").glob("*.yml")), ids=lambda each: each.stem)
def test_every_playbook_requires_hosts(playbook: Path) -> None:
    (hosts,) = re.findall(r"^  hosts: (.*)$", playbook.read_text("utf-8"), re.MULTILINE)
    assert re.fullmatch(
        r"\"\{\{ lookup\('kafkaops\.recovery\.matching_hosts', \w+_hosts \| default\('\w+', true\)\) \}\}\"", hosts
    )


@pytest.mark.parametrize(
    ("pattern", "inventory", "expected"),
    [
        ("nope", "a,b,", "no host of the inventory matches 'nope', so nothing was done"),
        ("b,nope", "a,b,", "no host of the inventory matches 'nope'"),
        ("a:!a", "a,b,", "no host of the inventory matches 'a:!a'"),
        ("all:!a", "a,b,", "hosts (1): b"),
        ("", "a,b,", "hosts (1): localhost"),
    ],
)
def test_hosts_that_are_not_there_are_named(pattern: str, inventory: str, expected: str) -> None:
    ansible = Path(sys.executable).with_name("ansible-playbook")
    command = [str(ansible), "kafkaops.recovery.check_stop", "-i", inventory, "--list-hosts"]
    command += ["-e", f"stop_gate_hosts={pattern}"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert expected in " ".join((ran.stdout + ran.stderr).split())
    assert (ran.returncode == 0) == expected.startswith("hosts")


def test_the_syntax_does_not_depend_on_the_inventory() -> None:
    ansible = Path(sys.executable).with_name("ansible-playbook")
    command = [str(ansible), "kafkaops.recovery.recover_quorum", "--syntax-check"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
