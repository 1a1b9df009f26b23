# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""awx.awx loads everything into a fake of AWX's API, and changes nothing the second time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from extensions.awx_parts import AWX, downloaded_collections
from extensions.awx_stand_in import AwxStandIn, serving
from lab.playbook import PROJECT

pytestmark = pytest.mark.timeout(900)

TOKEN = "canary-of-the-stand-in"
_APPROVED = "Kafka: apply the approved plan"
_UNATTENDED = "Kafka: elect what loses nothing"
_SCHEDULED = ("Kafka: check the quorum", "Kafka: check the readiness", "Kafka: look at the log cleaners")


@pytest.fixture(scope="module")
def collections() -> Path:
    return downloaded_collections()


def run(url: str, collections: Path) -> str:
    """Apply, and return the output."""
    ran = subprocess.run(
        [Path(sys.executable).with_name("ansible-playbook"), AWX / "apply.yml", "-e", "kafka_recovery_wait=false"],
        cwd=PROJECT,
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": f"{collections}:{PROJECT / '.venv' / 'collections'}",
            "ANSIBLE_NOCOLOR": "1",
            "CONTROLLER_HOST": url,
            "CONTROLLER_OAUTH_TOKEN": TOKEN,
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def test_everything_is_stored_once(collections: Path) -> None:
    awx = AwxStandIn()
    awx.add("credentials", {"name": "Kafka"})
    with serving(awx, TOKEN) as url:
        run(url, collections)
        written = len(awx.writes)
        again = run(url, collections)
    assert "changed=0 " in again, again
    assert awx.writes[written:] == []

    templates = awx.named("job_templates")
    assert all((PROJECT / each["playbook"]).is_file() for each in templates.values())
    (project,) = awx.named("projects").values()
    assert {each["project"] for each in templates.values()} == {project["id"]}
    surveyed = {each["name"] for each in templates.values() if each["survey_enabled"]}
    stored = {each["name"] for each in templates.values() if f"{each['url']}survey_spec/" in awx.surveys}
    assert surveyed == stored

    nodes = awx.named("workflow_job_template_nodes")
    by_id = {each["id"]: name for name, each in nodes.items()}
    order = ["quorum"]
    while following := [
        number
        for kind in ("success_nodes", "always_nodes")
        for number in awx.associations.get(f"{nodes[order[-1]]['url']}{kind}/", [])
    ]:
        order += [by_id[number] for number in following]
    assert order == ["quorum", "look", "plan", "approve", "apply", "report"]
    assert nodes["approve"]["related"]["unified_job_template"].startswith("/api/v2/workflow_approval_templates/")
    # Two jobs elect: one after an approval, and one where nothing is lost, if an administrator enables its schedule.
    assert nodes["apply"]["unified_job_template"] == templates[_APPROVED]["id"]
    writes = "unclean_recovery_automated_recovery"
    assert {name for name, each in templates.items() if writes in each["extra_vars"]} == {_APPROVED, _UNATTENDED}

    schedules = awx.named("schedules").values()
    enabled = {each["unified_job_template"] for each in schedules if each["enabled"]}
    assert enabled == {templates[name]["id"] for name in _SCHEDULED}
    (disabled,) = {each["unified_job_template"] for each in schedules} - enabled
    workflows = awx.named("workflow_job_templates")
    assert disabled == workflows[f"{_UNATTENDED}, and plan the rest"]["id"]
    assert nodes["elect"]["unified_job_template"] == templates[_UNATTENDED]["id"]
    assert awx.associations[f"{nodes['elect']['url']}failure_nodes/"] == [nodes["plan_rest"]["id"]]
