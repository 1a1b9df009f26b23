# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A page about several clusters keeps them apart: topics, brokers and offsets of two clusters have the same names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import plan_document
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.page import Page, build_page
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.sources import (
    check_approvals,
    read_documents,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.template import render_html
from unit.documents.examples import a_plan
from unit.recovery import outages
from unit.report import salvages
from unit.report.test_incident import lossless
from unit.report.test_page import a_report
from unit.report.test_runs import readiness_file
from unit.report.test_salvage_account import a_disk, a_replay

A, B = "4L6g3nShT-eMCtK--X86sw", "AL6g3nShT-eMCtK--X86sw"


def page_of(directory: Path, *documents: dict[str, Any]) -> Page:
    for number, document in enumerate(documents):
        salvages.written(directory / f"{number}.json", document)
    return build_page(read_documents([], str(directory)).sources, "An incident")


def test_each_cluster_has_its_own_verdict_the_worst_first(tmp_path: Path) -> None:
    page = page_of(tmp_path, a_report([lossless(0)], clusterId=A), a_report([outages.failed(0)], clusterId=B))
    assert page.verdict == (
        f"Cluster {B}: 0 of 1 partition recovered; 1 failed. "
        f"Cluster {A}: 1 of 1 partition recovered; no record was lost; writable with acks=all: 1 of 1."
    )
    assert page.tone == "bad"
    assert page.facts[0] == ("Cluster", f"{A}, {B}")


def test_a_section_says_of_which_cluster_it_is(tmp_path: Path) -> None:
    page = page_of(tmp_path, *(a_report([lossless(0)], clusterId=each) for each in (A, B)))
    for cluster in (A, B):
        assert f"Brokers: cluster {cluster}" in [each.title for each in page.sections]
        assert f"Next: cluster {cluster}" in [each.title for each in page.sections]
    assert f"Cluster {A}: {tmp_path}/0.json".lower() in render_html(page).decode().lower()


def test_a_salvage_of_one_cluster_settles_nothing_in_another(tmp_path: Path) -> None:
    lost = a_report([outages.recovered(outages.would_recover(0))], clusterId=A)
    salvaged = [{**each, "clusterId": B} for each in (a_disk(100, 350), a_replay(250))]
    page = page_of(tmp_path, lost, *salvaged)
    assert "whether records were lost is unknown" in page.verdict
    assert page.tone == "warning"


def test_findings_and_brokers_of_each_cluster_are_kept(tmp_path: Path) -> None:
    """The later report must not replace what the report of another cluster says of the same broker and partition."""
    reports = []
    for name, cluster in (("first", A), ("second", B)):
        report = a_report([lossless(0)], clusterId=cluster)
        report["aftermath"][0]["explanation"] = f"found of the {name} cluster"
        report["brokers"][1]["host"] = f"{name}.example.com"
        reports.append(report)
    html = render_html(page_of(tmp_path, *reports)).decode()
    for name in ("first", "second"):
        assert f"of the {name} cluster" in html
        assert f"kafka_bootstrap_servers={name}.example.com:9092" in html


def test_documents_that_name_no_cluster_are_about_the_only_one(tmp_path: Path) -> None:
    readiness = {**json.loads(readiness_file(tmp_path).read_text()), "clusterId": None}
    page = page_of(tmp_path, a_report([lossless(0)], clusterId=A), readiness)
    assert page.verdict.startswith("1 of 1 partition recovered")
    assert "Readiness for a recovery" in [each.title for each in page.sections]
    both = page_of(tmp_path, a_report([lossless(0)], clusterId=A), readiness, a_report([lossless(0)], clusterId=B))
    assert "Readiness for a recovery: no single cluster" in [each.title for each in both.sections]


def test_an_approval_is_on_the_timeline_of_its_plan(tmp_path: Path) -> None:
    plan = plan_document(a_plan())
    paths = [
        salvages.written(tmp_path / f"{number}.json", each)
        for number, each in enumerate((plan, a_report([lossless(0)], clusterId=B)))
    ]
    sources = read_documents([*map(str, paths)], None).sources
    given = {"at": "2026-01-31T23:59:59Z", "by": "a person", "plan_digest": plan["digest"]}
    page = build_page(sources, "An incident", check_approvals([given], sources))
    timelines = {each.title: str(each.blocks) for each in page.sections if each.title.startswith("Timeline")}
    assert "a person" in timelines[f"Timeline: cluster {A}"]
    assert "a person" not in timelines[f"Timeline: cluster {B}"]
