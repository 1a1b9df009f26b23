# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""HTML reports in a browser and in print: they request nothing, fit desktop and phone, and axe-core finds nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import plan_document
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.fleet import build_fleet_page
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.page import build_page
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.sources import (
    SIGNS,
    DocumentKind,
    check_approvals,
    read_sources,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.template import render_html
from extensions.any_document import any_document
from extensions.browser import Browser, running_browser
from processes.plugin_utils.test_fleet import a_fleet
from unit.documents.examples import a_plan
from unit.recovery import outages
from unit.report import salvages
from unit.report.test_page import a_report
from unit.report.test_runs import disk_file, readiness_file, replay_file

LONG = "x" * 300 + salvages.HOSTILE
PAGES = ("recovery", "large", "readiness", "salvage", "replay", "incident", "hostile")
# A survey is the result of a module: its schema has only the fields that a page shows.
SCHEMAS = {kind: schema for kind, _keys, schema in SIGNS if schema is not None and kind is not DocumentKind.SURVEY}
WIDTHS = pytest.mark.parametrize("width", [1280, 390])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Return a page of every kind of document, one of all of them, and one with long and hostile texts."""
    directory, hostile = tmp_path_factory.mktemp("documents"), tmp_path_factory.mktemp("hostile")
    recovery = salvages.written(directory / "report.json", a_report(outages.fourteen()))
    plan = plan_document(a_plan())
    readiness, disk, replay = readiness_file(directory), disk_file(directory), replay_file(directory)
    manifest = salvages.manifest_in(directory)
    planned = salvages.written(directory / "plan.json", plan)
    texts = [readiness_file(hostile, found=LONG), disk_file(hostile, reason=LONG), replay_file(hostile, reason=LONG)]
    approved = {"at": "2026-01-31T02:59:58Z", "by": LONG, "plan_digest": plan["digest"]}
    documents = {
        "recovery": [recovery],
        "large": [salvages.written(directory / "large.json", a_report(outages.three_thousand()[:200]))],
        "readiness": [readiness],
        "salvage": [disk, manifest],
        "replay": [replay, manifest],
        "incident": [planned, recovery, readiness, disk, replay, manifest],
        "hostile": [planned, *texts],
    }
    made = {}
    for name in PAGES:
        sources = read_sources([str(each) for each in documents[name]])
        approvals = check_approvals([approved] if planned in documents[name] else [], sources)
        page = build_page(sources, LONG if name == "hostile" else name, approvals)
        made[name] = salvages.written(directory / f"{name}.html", render_html(page))
    return made


@WIDTHS
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_page(browser: Browser, pages: Mapping[str, Path], name: str, scheme: str, width: int) -> None:
    check(browser, pages[name], width, scheme)


@WIDTHS
@pytest.mark.parametrize("kind", SCHEMAS)
def test_any_document_with_long_and_hostile_texts(
    browser: Browser, tmp_path: Path, kind: DocumentKind, width: int
) -> None:
    document = tmp_path / "document.json"
    document.write_text(json.dumps(any_document(SCHEMAS[kind], LONG)), encoding="utf-8")
    page = build_page(read_sources([str(document)]), kind)
    check(browser, salvages.written(tmp_path / "page.html", render_html(page)), width, "light")


@WIDTHS
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_fleet(browser: Browser, tmp_path: Path, scheme: str, width: int) -> None:
    page = build_fleet_page(a_fleet().clusters(["south", "east", LONG]), str(tmp_path))
    check(browser, salvages.written(tmp_path / "fleet.html", render_html(page)), width, scheme)


def check(browser: Browser, page: Path, width: int, scheme: str) -> None:
    seen = browser.look(page, width, scheme)
    assert seen.requests == [page.as_uri()]
    assert seen.console == []
    assert seen.width <= width
    assert seen.violations == []
    assert seen.pdf.startswith(b"%PDF-")
