# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Missing ACLs are found, and the documented commands are those of the code."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.acls import operation_options
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.check import CheckStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.permissions import (
    NEEDS,
    Access,
    Need,
    Resource,
    acl_resource,
    check_permissions,
)

SETTINGS = settings_from({"bootstrap_servers": "kafka1:9092"})
PROJECT = Path(__file__).parents[3]
JOURNAL, MEMORY = "_kafkaops_run", "_kafkaops_leadership"
EVERYTHING = frozenset(
    {"READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"}
)
FULL = Access(EVERYTHING, {"orders": EVERYTHING}, [], EVERYTHING, EVERYTHING, EVERYTHING, {"billing": EVERYTHING})
CASES = [
    (playbook, need, operation)
    for playbook, needs in NEEDS.items()
    for need in needs
    for operation in need.operations
    if need.resource not in (Resource.SALVAGE_TRANSACTION, Resource.TRANSACTIONS, Resource.CONTROLLERS)
]


def without(access: Access, resource: Resource, operation: str) -> Access:
    """Return the access without one operation on one kind of resource."""
    if resource is Resource.TOPICS:
        return replace(access, topics={"orders": EVERYTHING - {operation}})
    if resource is Resource.GROUPS:
        return replace(access, groups={"billing": EVERYTHING - {operation}})
    less = EVERYTHING - {operation}
    if resource is Resource.CLUSTER:
        return replace(access, cluster=less)
    # CREATE on the cluster allows every topic.
    cluster = less if operation == "CREATE" else EVERYTHING
    if resource is Resource.JOURNAL:
        return replace(access, cluster=cluster, journal=less)
    if resource is Resource.TICKETS:
        return replace(access, cluster=cluster, tickets=less)
    return replace(access, cluster=cluster, memory=less)


def _options(need: Need) -> str:
    return f"{operation_options(need.operations)} {acl_resource(need, JOURNAL, MEMORY)}"


def test_with_all_acls_nothing_is_missing() -> None:
    assert {each.status for each in check_permissions(FULL, JOURNAL, MEMORY, SETTINGS)} == {CheckStatus.OK}


@pytest.mark.parametrize(("playbook", "need", "operation"), CASES)
def test_a_missing_acl_is_reported_with_its_command(playbook: str, need: Need, operation: str) -> None:
    assert need in NEEDS[playbook]
    found = {
        each.subject: each
        for each in check_permissions(without(FULL, need.resource, operation), JOURNAL, MEMORY, SETTINGS)
    }
    check = found[f"playbook {playbook}"]
    assert check.status is not CheckStatus.OK
    assert f"{operation} on " in check.found
    assert _options(need) in check.remedy


def test_an_optional_acl_is_a_warning() -> None:
    found = {
        each.subject: each.status
        for each in check_permissions(replace(FULL, groups={"billing": frozenset()}), JOURNAL, MEMORY, SETTINGS)
    }
    assert found["playbook recover_offline_partitions"] is CheckStatus.WARNING
    assert found["playbook salvage_logs"] is CheckStatus.OK


def test_a_hidden_topic_is_reported() -> None:
    checks = [*check_permissions(replace(FULL, hidden_topics=["secret"]), JOURNAL, MEMORY, SETTINGS)]
    assert all("secret" in each.found for each in checks if each.subject == "playbook salvage_logs")


def test_create_on_the_cluster_allows_creating_the_journal() -> None:
    access = replace(FULL, journal=EVERYTHING - {"CREATE"})
    assert {each.status for each in check_permissions(access, JOURNAL, MEMORY, SETTINGS)} == {CheckStatus.OK}


def test_the_documented_commands_are_those_of_the_code() -> None:
    text = (PROJECT / "docs" / "permissions.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL))
    for playbook, needs in NEEDS.items():
        documented = re.findall(r"^\| `([^`]+)` \|.*\| (optional)? *\|$", sections[playbook], re.MULTILINE)
        wanted = [(_options(each), "" if each.is_required else "optional") for each in needs]
        assert documented == wanted, playbook


def test_every_playbook_that_connects_is_listed() -> None:
    offline = {"exposure_report", "incident_report", "renew_plan_digest"}
    playbooks = {each.stem for each in (PROJECT / "playbooks").glob("*.yml")} - offline
    assert playbooks == NEEDS.keys()
    assert all(yaml.safe_load((PROJECT / "playbooks" / f"{each}.yml").read_text("utf-8")) for each in offline)
