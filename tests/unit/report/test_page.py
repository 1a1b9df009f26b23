# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page about an incident has the numbers of the documents, and no text of them becomes markup."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import RunMode
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import (
    AftermathFinding,
    AftermathKind,
    Outcome,
    Report,
    report_document,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import plan_document
from ansible_collections.kafkaops.recovery.plugins.module_utils._report import charts
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.page import build_page
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.sources import (
    check_approvals,
    read_documents,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.template import render_html
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.manifest import SavedFrom, encode_manifest
from unit.documents.examples import a_plan
from unit.recovery import outages
from unit.report import salvages

HOSTILE = "</td><script>alert(1)</script>{{ 7*7 }}\"'><img src=x onerror=alert(1)>"
_VOID = {"meta", "br", "img", "link", "input"}


class Reader(HTMLParser):
    """Parses a page like a browser: tags, and the texts of cells by table."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self._texts: list[str] | None = None
        self._rows: list[list[str]] = []
        self._caption = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self._rows = []
        if tag == "tr":
            self._rows.append([])
        if tag in ("td", "caption"):
            self._texts = []

    def handle_data(self, data: str) -> None:
        if self._texts is not None:
            self._texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "td" and self._texts is not None:
            self._rows[-1].append("".join(self._texts))
        if tag == "caption" and self._texts is not None:
            self._caption = "".join(self._texts)
        if tag in ("td", "caption"):
            self._texts = None
        if tag == "table":
            self.tables[self._caption] = [row for row in self._rows if row]


def a_report(outcomes: Sequence[Outcome], **fields: Any) -> dict[str, Any]:
    report = Report(
        "4L6g3nShT-eMCtK--X86sw",
        "2026-01-31T02:59:59Z",
        "2026-01-31T03:01:12Z",
        RunMode.APPLY,
        outages.brokers(),
        tuple(outcomes),
    )
    left = AftermathFinding(
        kind=AftermathKind.COMMITTED_BEYOND_END,
        topic="orders",
        partition=9,
        explanation=f"group {HOSTILE} committed offset 151",
    )
    return {**report_document(replace(report, aftermath=(left,))), **fields}


def html_of(directory: Path, *documents: dict[str, Any]) -> str:
    for number, document in enumerate(documents):
        (directory / f"{number}.json").write_text(json.dumps(document), encoding="utf-8")
    return render_html(build_page(read_documents([], str(directory)).sources, "An incident")).decode()


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ({"name": "spark", "reason": ""}, "mode apply, replicas ranked by Spark<"),
        (
            {"name": "process", "reason": ""},
            "mode apply, replicas ranked by the module&#39;s own process, without Spark<",
        ),
        ({"name": "process", "reason": "Spark is away"}, "own process, without Spark: Spark is away<"),
        (None, "mode apply<"),
    ],
)
def test_the_page_names_the_engine_that_ranked(engine: dict[str, str] | None, words: str, tmp_path: Path) -> None:
    assert words in html_of(tmp_path, a_report(outages.fourteen(), engine=engine))


def test_the_numbers_are_those_of_the_report(tmp_path: Path) -> None:
    report = a_report(outages.fourteen())
    reader = Reader(html_of(tmp_path, report))
    losses = [
        next(loss["atLeast"] for loss in each["losses"] if loss["brokerId"] == each["designatedLeader"])
        for each in report["partitions"]
        if each["status"] == "recovered"
    ]
    assert reader.tables["By topic"] == [
        ["all topics", str(len(losses)), str(sum(losses)), "unknown"],
        ["orders", str(len(losses)), str(sum(losses)), "unknown"],
    ]
    assert [row[:3] for row in reader.tables["All partitions"]] == [
        ["2", "refused", "payments 0-1"],
        ["2", "recovered", "orders 9-10"],
        ["10", "recovered", "orders 0-8, 12"],
    ]
    assert sorted(row[0] for row in reader.tables["Worst first"]) == sorted(
        f"{each['topic']}-{each['partition']}" for each in report["partitions"]
    )
    assert reader.tables["2 of 3 brokers online"][0][3:] == ["unreachable", outages.ERROR]


def test_losses_of_other_decisions_are_shown(tmp_path: Path) -> None:
    """The worse replica is first in the order, so Kafka's own unclean election would elect it."""
    report = a_report([outages.recovered(outages.would_recover(0, behind=5))])
    rows = Reader(html_of(tmp_path, report)).tables["By decision"]
    assert [row[2] for row in rows] == ["0", "5", "5"]


def test_nothing_of_a_document_becomes_markup(tmp_path: Path) -> None:
    brokers = [{**each, "cause": HOSTILE, "rack": HOSTILE, "host": HOSTILE} for each in a_report([])["brokers"]]
    report = a_report(outages.fourteen(), brokers=brokers)
    for each in report["partitions"]:
        each["reason"] = HOSTILE
        each["silent"][0]["error"] = HOSTILE
    page = html_of(tmp_path, report)
    tags = Reader(page).tags
    assert not {tag for tag, _attributes in tags} & {"script", "img", "iframe", "link", "object", "a", "base", "form"}
    assert not [name for _tag, attributes in tags for name in attributes if name.startswith("on")]
    assert "49" not in re.findall(r"committed.*?<", page)[0]
    assert Reader(page).tables["2 of 3 brokers online"][0][4] == HOSTILE


def test_no_text_of_a_broker_turns_the_direction_of_writing(tmp_path: Path) -> None:
    """A page with such a character shows "not recovered" as whatever a broker likes."""
    evil = "rack\u202eed\u2066 \x1b[31mone"
    brokers = [{**each, "cause": evil, "rack": evil} for each in a_report([])["brokers"]]
    page = html_of(tmp_path, a_report(outages.fourteen(), brokers=brokers))
    assert "rack\N{REPLACEMENT CHARACTER}ed" in page
    assert not {"\u202e", "\u2066", "\x1b"} & {*page}


def test_nothing_is_loaded(tmp_path: Path) -> None:
    page = html_of(tmp_path, a_report(outages.fourteen()))
    policies = [
        attributes["content"]
        for tag, attributes in Reader(page).tags
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert len(policies) == 1
    assert (policies[0] or "").startswith("default-src 'none'; style-src 'sha256-")
    assert not [
        attributes for _tag, attributes in Reader(page).tags if {"href", "src", "xlink:href"} & attributes.keys()
    ]
    assert set(re.findall(r"url\(([^)]*)\)", page)) == {f"#{charts.HATCH}"}
    assert " style=" not in page


def test_a_picture_for_each_way_to_lose_and_at_most_fifty(tmp_path: Path) -> None:
    page = html_of(tmp_path, a_report(outages.fourteen()))
    assert re.findall(r"<figure><h3>([^<]*)", page)[:4] == ["payments-0", "orders-9", "orders-10", "orders-0"]
    outcomes = [outages.recovered(outages.losing(each, lost=each + 1)) for each in range(60)]
    page = html_of(tmp_path, a_report(outcomes))
    assert re.findall(r"<figure><h3>(orders[^<]*)", page) == [f"orders-{each}" for each in range(59, 9, -1)]


def test_saved_offsets_are_framed_and_named_in_the_picture(tmp_path: Path) -> None:
    report = a_report([outages.recovered(outages.losing(0, lost=5))])
    saved = replace(salvages.MANIFEST, partitions=(replace(salvages.SAVED[0], ranges=(EpochRange(0, 100, 105),)),))
    page = html_of(tmp_path, report, json.loads(encode_manifest(replace(saved, origins=(SavedFrom(2),)))))
    assert "Saved: 100 to 104 of broker 2." in page
    assert f'stroke-width="{charts.FRAME}"' in page
    page = html_of(tmp_path, report, json.loads(encode_manifest(replace(saved, origins=(SavedFrom(3),)))))
    assert f'stroke-width="{charts.FRAME}"' not in page, "the elected replica has no frame"


def test_without_vl_convert_there_are_tables_and_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)  # Python's way to make an import fail
    page = html_of(tmp_path, a_report(outages.fourteen()))
    assert "<figure>" not in page
    assert "vl-convert-python is not installed" in page
    assert "By topic" in Reader(page).tables


def test_many_partitions_make_a_page_of_bounded_size(tmp_path: Path) -> None:
    page = html_of(tmp_path, a_report(outages.three_thousand()))
    assert len(page) < 1_500_000
    assert "the first 1,000 of 3,000" in page
    assert "topic-299 0-1, 3-5, 7-9" in page, "every partition is named in its group"


def test_every_invalid_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{", encoding="utf-8")
    (tmp_path / "b.json").write_text('{"some": "thing"}', encoding="utf-8")
    (tmp_path / "c.json").write_text(json.dumps({**a_report([]), "mode": "maybe"}), encoding="utf-8")
    with pytest.raises(DocumentError) as refused:
        read_documents([], str(tmp_path))
    message = str(refused.value)
    assert all(name in message for name in ("a.json", "b.json", "c.json"))
    assert "is no JSON" in message
    assert "is none of: recovery report" in message


def test_a_directory_without_documents_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="it has no document"):
        read_documents([], str(tmp_path))


def test_an_approval_is_in_the_timeline_between_plan_and_recovery(tmp_path: Path) -> None:
    plan = plan_document(a_plan())
    (tmp_path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    (tmp_path / "report.json").write_text(json.dumps(a_report(outages.fourteen())), encoding="utf-8")
    sources = read_documents([], str(tmp_path)).sources
    given = {"at": "2026-01-31T02:59:58Z", "by": HOSTILE, "plan_digest": plan["digest"]}
    page = render_html(build_page(sources, "An incident", check_approvals([given], sources))).decode()
    rows = Reader(page).tables["Times are UTC"]
    approval = next(row for row in rows if "approved" in row[1])
    assert approval[0] == given["at"]
    assert plan["digest"] in approval[1]
    assert HOSTILE not in page
    began = next(number for number, row in enumerate(rows) if "recovery began" in row[1])
    assert rows.index(approval) < began


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"at": "yesterday"}, "no UTC time"), ({"plan_digest": "sha256:0"}, "of none of the documents")],
)
def test_a_wrong_approval_is_refused(wrong: dict[str, str], message: str) -> None:
    given = {"at": "2026-01-31T02:59:58Z", "by": "alice", "plan_digest": None, **wrong}
    with pytest.raises(DocumentError, match=message):
        check_approvals([given], [])
