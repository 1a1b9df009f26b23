# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What playbooks do on localhost: which Python their modules run with, and what they need to be told."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lab.playbook import run_playbook

ROOT = Path(__file__).resolve().parents[3]
PLAYBOOKS = {
    "check_readiness": ["-e", "kafka_bootstrap_servers=127.0.0.1:1"],
    "incident_report": ["-e", "incident_report_dir=/nowhere", "-e", "incident_report_html=/nowhere/page.html"],
    "renew_plan_digest": ["-e", "unclean_recovery_plan_file=/nowhere/plan.json"],
}
"""One with a role, as all others are, and two with a module alone."""


def output_of(playbook: str, host: str, directory: Path) -> str:
    """Run a playbook where the first Pythons on the PATH are pyenv's, which fail for versions that are not set."""
    shims = directory / "shims"
    shims.mkdir()
    for name in ("python", "python3", *(f"python3.{minor}" for minor in range(8, 15))):
        (shims / name).write_text(f"#!/bin/sh\necho 'pyenv: {name}: command not found' >&2\nexit 127\n")
        (shims / name).chmod(0o755)
    inventory = directory / "hosts"
    inventory.write_text(f"{host}\n")
    ansible = Path(sys.executable).with_name("ansible-playbook")
    done = subprocess.run(
        [ansible, "-i", inventory, f"kafkaops.recovery.{playbook}", *PLAYBOOKS[playbook], "-vvv"],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{shims}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_an_explicit_localhost_takes_the_python_that_runs_ansible(playbook: str, tmp_path: Path) -> None:
    output = output_of(playbook, "localhost ansible_connection=local", tmp_path)
    assert f"{sys.executable} " in output
    assert "pyenv:" not in output
    assert "Traceback" not in output


def test_what_the_user_says_wins(tmp_path: Path) -> None:
    host = "localhost ansible_connection=local ansible_python_interpreter=/nowhere/python"
    assert "/nowhere/python" in output_of("renew_plan_digest", host, tmp_path)


@pytest.mark.wide
@pytest.mark.parametrize("playbook", sorted(each.stem for each in (ROOT / "playbooks").glob("*.yml")))
def test_without_a_variable_each_playbook_names_the_one_that_it_needs(playbook: str) -> None:
    """It never names the option of the module that the variable becomes."""
    ran = run_playbook(f"kafkaops.recovery.{playbook}", {})
    assert ran.returncode != 0, ran.output
    prefixes = [each.name for each in (ROOT / "roles").iterdir()]
    named = re.search(rf"\b({'|'.join([*prefixes, 'kafka'])})_\w+", ran.output.split('"msg": ')[-1])
    assert named or "no host of the inventory matches 'kafka_controllers'" in ran.words, ran.output
    assert "missing required arguments" not in ran.output
