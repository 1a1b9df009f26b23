# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""AWX as data agrees with the roles and playbooks."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from extensions.awx_parts import data, job_template, rendered
from publish import surveys
from publish.artifact import PROJECT
from unit.roles.role import options

_DATA = data()
# What AWX has when it renders a message as it stores it (`JobNotificationMixin.context_stub` of 24.6.1).
_STUB = {
    "job": {"name": "Stub JobTemplate", "status": "running", "artifacts": {}},
    "url": "https://platformhost/#/jobs/playbook/1010",
    "approval_status": "approved",
    "approval_node_name": "Approve Me",
    "workflow_url": "https://platformhost/#/jobs/workflow/1010",
}
_OF_A_JOB = ("job", "url")


def test_the_surveys_are_those_of_the_argument_specs() -> None:
    assert surveys.FILE.read_text(encoding="utf-8") == surveys.render(), "run `make surveys`"


_ALLOWED = {"text": str, "multiplechoice": str, "integer": int, "float": float}
"""Of which type AWX takes a default (`JobTemplateSurveySpec.ALLOWED_TYPES`). No default is an empty text."""


def test_awx_takes_the_default_of_each_question() -> None:
    specs = yaml.safe_load(surveys.FILE.read_text(encoding="utf-8"))["kafka_recovery_surveys"].values()
    questions = [each for spec in specs for each in spec["spec"]]
    wrong = [
        each["variable"]
        for each in questions
        if each["default"] != "" and not isinstance(each["default"], _ALLOWED[each["type"]])
    ]
    assert questions
    assert not wrong
    assert all(each["default"] in each["choices"] for each in questions if "choices" in each)


def messages() -> list[tuple[str, dict[str, Any]]]:
    """Return the bodies of all messages, each with what AWX has when it sends it."""
    (notification,) = _DATA["controller_notifications"]
    shipped = notification["messages"]
    approvals = {name: value for name, value in _STUB.items() if name not in _OF_A_JOB}
    return [
        *((shipped[status]["body"], {name: _STUB[name] for name in _OF_A_JOB}) for status in ("success", "error")),
        *((each["body"], approvals) for each in shipped["workflow_approval"].values()),
    ]


@pytest.mark.parametrize(("body", "context"), messages())
def test_a_message_is_json_when_it_is_stored_and_when_it_is_sent(body: str, context: dict[str, Any]) -> None:
    assert json.loads(rendered(body, _STUB))
    assert json.loads(rendered(body, context))


def test_a_message_has_the_summary_of_the_job() -> None:
    summary = {"partitions": {"recovered": 1, "refused": 0}, "lost_at_least": 0, "lost_at_most": None}
    job = {"name": 'a "name"', "status": "failed", "artifacts": {"unclean_recovery_summary": summary}}
    body, context = messages()[1]
    sent = json.loads(rendered(body, {**context, "job": job}))
    assert (sent["job"], sent["status"], sent["summary"]) == ('a "name"', "failed", summary)


def test_elections_are_approved_or_lose_nothing_and_only_one_publishes_a_plan() -> None:
    templates = [each for each in _DATA.values() if isinstance(each, dict) and "playbook" in each]
    recovering = [each for each in templates if each["playbook"].endswith("recover_offline_partitions.yml")]
    assert len(recovering) == 5
    for each in recovering:
        assert each["extra_vars"].keys() <= options("unclean_recovery").keys()
    electing = [each["name"] for each in recovering if "unclean_recovery_automated_recovery" in each["extra_vars"]]
    assert electing == ["Kafka: apply the approved plan", "Kafka: elect what loses nothing"]
    assert electing[0] not in {each["unified_job_template"] for each in _DATA["controller_schedules"]}
    # A plan arrives in all later jobs of the workflow, where it is a second way to say which partitions.
    published = {each["name"]: each["extra_vars"].get("unclean_recovery_publish_plan") for each in recovering}
    assert published["Kafka: look at offline partitions"] is False
    assert published["Kafka: plan a recovery"] is True
    for name in ("apply the approved plan", "report on the approved plan"):
        assert "unclean_recovery_all_offline_partitions" not in job_template(name)["extra_vars"]
    assert all((PROJECT / each["playbook"]).is_file() for each in templates)


def test_a_partition_that_is_refused_does_not_end_the_workflow() -> None:
    """It fails the job that looks and the one that plans. The others must still be approved and elected."""
    workflow, _unattended = _DATA["controller_workflows"]
    related = {each["identifier"]: each.get("related", {}) for each in workflow["workflow_nodes"]}
    for before, after in (("quorum", "look"), ("look", "plan"), ("plan", "approve"), ("apply", "report")):
        assert related[before] == {"always_nodes": [{"identifier": after}]}
    assert related["approve"] == {"success_nodes": [{"identifier": "apply"}]}


def test_what_is_elected_without_a_person_is_sent_and_what_is_left_is_planned() -> None:
    _approved, workflow = _DATA["controller_workflows"]
    (schedule,) = (each for each in _DATA["controller_schedules"] if each["unified_job_template"] == workflow["name"])
    assert not schedule["enabled"]
    elect, plan = workflow["workflow_nodes"]
    names = [each["unified_job_template"]["name"].removeprefix("Kafka: ") for each in (elect, plan)]
    assert names == ["elect what loses nothing", "plan a recovery"]
    assert elect["related"] == {"failure_nodes": [{"identifier": plan["identifier"]}]}
    assert job_template(names[0])["notification_templates_success"] == ["Kafka recovery"]


def test_a_person_can_answer_what_the_look_advises() -> None:
    """It advises to name the brokers that are lost for good, before any bolder strategy."""
    assert "lost_brokers" in surveys.ASKED["plan"][1]


def test_a_field_of_the_credential_becomes_a_file_or_a_variable() -> None:
    (kind,) = _DATA["controller_credential_types"]
    injected = " ".join([*kind["injectors"]["file"].values(), *kind["injectors"]["extra_vars"].values()])
    assert all(field["id"] in injected for field in kind["inputs"]["fields"])
    files = {name.removeprefix("template.") for name in kind["injectors"]["file"]}
    assert all(f"tower.filename.{name}" in injected for name in files)
    every_role = {name for role in ("unclean_recovery", "quorum_preflight", "readiness") for name in options(role)}
    assert kind["injectors"]["extra_vars"].keys() <= every_role
