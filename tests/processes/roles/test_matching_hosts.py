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
    lookup = r"lookup\('kafkaops\.recovery\.matching_hosts', (\w+_hosts) \| default\('\w+'\), variable='\1'\)"
    assert re.fullmatch(rf"\"\{{\{{ {lookup} \}}\}}\"", hosts)


@pytest.mark.parametrize(
    ("pattern", "inventory", "expected"),
    [
        ("nope", "a,b,", "no host of the inventory matches 'nope', so nothing was done"),
        ("b,nope", "a,b,", "no host of the inventory matches 'nope'"),
        ("a:!a", "a,b,", "no host of the inventory matches 'a:!a'"),
        ("all:!a", "a,b,", "hosts (1): b"),
        ("", "a,b,", "stop_gate_hosts is empty, so nothing was done: give a value, or leave it out"),
    ],
)
def test_hosts_that_are_not_there_are_named(pattern: str, inventory: str, expected: str) -> None:
    ansible = Path(sys.executable).with_name("ansible-playbook")
    command = [str(ansible), "kafkaops.recovery.check_stop", "-i", inventory, "--list-hosts"]
    command += ["-e", f"stop_gate_hosts={pattern}"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert expected in " ".join((ran.stdout + ran.stderr).split())
    assert (ran.returncode == 0) == expected.startswith("hosts")


def check_stop(*words: str) -> subprocess.CompletedProcess[str]:
    """Ask about hosts a and b, as typed. No task of the play is needed to answer."""
    ansible = Path(sys.executable).with_name("ansible-playbook")
    command = [str(ansible), "kafkaops.recovery.check_stop", "-i", "a,b,", "--list-hosts", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["--limit", "a"],
            "--limit a leaves out all hosts of 'localhost', so nothing was done: also set stop_gate_hosts,",
        ),
        (
            ["--limit", "a", "-e", "stop_gate_hosts=b"],
            "leaves out all hosts of 'b', so nothing was done: correct the limit",
        ),
        (["--limit", "all:!b", "-e", "stop_gate_hosts=b"], "--limit all:!b leaves out all hosts of 'b'"),
        (["--limit", "@FILE", "-e", "stop_gate_hosts=b"], "leaves out all hosts of 'b'"),
        (["--limit", "@FILE", "-e", "stop_gate_hosts=all"], "hosts (1): a"),
        (["--limit", "~^b", "-e", "stop_gate_hosts=all"], "hosts (1): b"),
    ],
)
def test_a_limit_that_leaves_no_host_is_refused(words: list[str], expected: str, tmp_path: Path) -> None:
    """As a file, it is that of a retry."""
    (tmp_path / "a.retry").write_text("a\n")
    ran = check_stop(*[each.replace("FILE", str(tmp_path / "a.retry")) for each in words])
    assert expected in " ".join((ran.stdout + ran.stderr).split())
    assert (ran.returncode == 0) == expected.startswith("hosts")


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (["--tags", "foo"], "--tags foo would skip tasks that belong together"),
        (["--tags", "tagged,always"], "--tags always,tagged would skip"),
        (["--skip-tags", "untagged"], "--skip-tags untagged would skip"),
        (["--start-at-task", "Print it"], "--start-at-task 'Print it' would skip"),
        (["--tags", "all", "--skip-tags", "foo"], ""),
        (["--tags", "foo,untagged"], ""),
    ],
)
def test_tags_that_skip_the_tasks_of_a_playbook_are_refused(words: list[str], refused: str) -> None:
    ran = check_stop(*words)
    assert refused in " ".join((ran.stdout + ran.stderr).split())
    assert (ran.returncode == 0) == (not refused)


def test_a_playbook_of_the_user_gives_its_tags_to_those_that_it_imports(tmp_path: Path) -> None:
    site = tmp_path / "site.yml"
    site.write_text("[{import_playbook: kafkaops.recovery.check_stop, tags: [gate]}]")
    command = [str(Path(sys.executable).with_name("ansible-playbook")), str(site), "--list-tasks", "--tags", "gate"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Check the variables" in ran.stdout, ran.stderr


def test_the_syntax_does_not_depend_on_the_inventory() -> None:
    ansible = Path(sys.executable).with_name("ansible-playbook")
    command = [str(ansible), "kafkaops.recovery.recover_quorum", "--syntax-check"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
