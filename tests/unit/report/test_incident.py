# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page tells the whole incident: what all plans and runs together made of each partition."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.blocks import Steps
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.extents import compute_extents
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.incident import merge_aftermath, merge_outcomes
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.page import Page, build_page
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.sources import read_documents
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.template import render_html
from lab.playbook import INCIDENT, run_playbook
from unit.recovery import outages
from unit.report.test_page import Reader, a_report

_ALL_WELL = "36 of 36 partitions recovered; no record was lost; writable with acks=all: 36 of 36."


def lossless(partition: int) -> Outcome:
    """Return a recovered partition whose loss is known to be 0."""
    outcome = outages.recovered(outages.would_recover(partition, behind=0))
    return replace(outcome, losses=tuple(replace(each, at_most=0, against=()) for each in outcome.losses))


def online(outcome: Outcome, leader: int | None) -> Outcome:
    """Return what a later run reports about the same partition, which this broker leads."""
    seen = outages.already_online(outcome.partition, outcome.topic)
    return replace(seen, topic_id=outcome.topic_id, leader_before=leader, leader_after=leader)


def page_of(directory: Path, *runs: Sequence[Outcome], **fields: Any) -> Page:
    directory.mkdir(exist_ok=True)
    for number, outcomes in enumerate(runs):
        at = f"2026-01-31T03:{number:02}:00Z"
        report = a_report(outcomes, startedAt=at, finishedAt=at, aftermath=[], **fields)
        (directory / f"{number}.json").write_text(json.dumps(report), encoding="utf-8")
    read = read_documents([], str(directory))
    return build_page(read.sources, "An incident", (), read.skipped)


def statuses(*runs: Sequence[Outcome]) -> list[str]:
    return [each.status.value for each in merge_outcomes(runs).outcomes]


def test_a_rerun_after_a_stop_counts_what_the_first_run_elected(tmp_path: Path) -> None:
    """The first run elects 30 of 36 partitions, and the second one the others."""
    first = [lossless(each) for each in range(30)]
    stopped = [replace(outages.would_recover(each), status=Status.FAILED) for each in range(30, 36)]
    page = page_of(tmp_path, [*first, *stopped], [lossless(each) for each in range(30, 36)])
    assert (page.verdict, page.tone) == (_ALL_WELL, "good")


def test_a_partition_that_takes_no_records_with_acks_all_is_not_well(tmp_path: Path) -> None:
    page = page_of(tmp_path, [replace(lossless(0), required_isr=2), replace(lossless(1), required_isr=None)])
    assert page.verdict.endswith("; writable with acks=all: 0 of 2, 1 unknown.")
    assert page.tone == "warning"


def test_a_final_refusal_does_not_hide_what_was_elected(tmp_path: Path) -> None:
    page = page_of(tmp_path, [lossless(each) for each in range(7)], [outages.refused(7)])
    assert page.verdict.startswith("7 of 8 partitions recovered;")
    assert page.tone == "warning"


def test_what_we_elected_and_a_later_run_finds_online_is_recovered() -> None:
    elected = lossless(0)
    (merged,) = merge_outcomes([[elected], [online(elected, 2)]]).outcomes
    assert (merged.status, merged.designated_leader, merged.leader_after) == (Status.RECOVERED, 3, 2)


@pytest.mark.parametrize("status", [Status.FAILED, Status.UNKNOWN])
@pytest.mark.parametrize(("leader", "merged"), [(3, "recovered"), (2, "already_online"), (None, "already_online")])
def test_an_election_without_a_seen_result_counts_if_its_leader_leads(
    status: Status, leader: int | None, merged: str
) -> None:
    doubtful = replace(outages.losing(0), status=status)
    assert statuses([doubtful], [online(doubtful, leader)]) == [merged]


def test_a_partition_that_is_offline_again_is_not_recovered_and_its_loss_still_counts(tmp_path: Path) -> None:
    lost = outages.recovered(outages.losing(0, lost=300))
    page = page_of(tmp_path, [lost], [outages.refused(0)])
    assert page.verdict.startswith("0 of 1 partition can be recovered now;")
    assert "1 earlier election of the same partitions: at least 300 records were lost" in page.verdict
    assert Reader(render_html(page).decode()).tables["By topic"][0][:3] == ["all topics", "1", "300"]


def test_two_elections_of_one_partition_lose_twice(tmp_path: Path) -> None:
    first = outages.recovered(outages.losing(0, lost=300))
    second = replace(outages.recovered(outages.losing(0, lost=40)), leader_epoch_before=first.leader_epoch_after)
    incident = merge_outcomes([[first], [second]])
    assert (incident.outcomes, incident.earlier) == ((second,), (first,))
    assert "at least 340" not in page_of(tmp_path, [first], [second]).verdict, "the two sums are stated apart"


def test_two_copies_of_a_report_are_one_election() -> None:
    outcomes = outages.fourteen()
    assert merge_outcomes([outcomes, outcomes]) == merge_outcomes([outcomes])
    assert not merge_outcomes([outcomes, outcomes]).earlier


def test_a_topic_that_was_created_again_is_not_the_one_that_was_elected() -> None:
    elected = lossless(0)
    other = replace(online(elected, 2), topic_id="AAAAAAAAAAAAAAAAAAAABA")
    incident = merge_outcomes([[elected], [other]])
    assert incident.outcomes == (other,)
    assert incident.earlier == (elected,)


def test_no_partition_of_any_run_is_missing() -> None:
    runs = [outages.three_thousand()[start : start + 700] for start in range(0, 3000, 500)]
    named = {each.topic_partition for run in runs for each in run}
    assert [each.topic_partition for each in merge_outcomes(runs).outcomes] == sorted(named)


def test_of_a_partition_that_came_online_the_leader_is_drawn_without_a_loss(tmp_path: Path) -> None:
    planned = outages.losing(0, lost=5)
    (merged,) = merge_outcomes([[planned], [online(planned, 2)]]).outcomes
    logs = compute_extents(merged)
    assert logs is not None
    assert "2 leader" in logs.replicas
    assert not logs.lost
    html = render_html(page_of(tmp_path, [planned], [online(planned, 2)])).decode()
    assert "already online; plan wanted 3, broker 2 leads; no election, so none lost a record." in html
    assert "plan wanted 3, broker 2 leads (1 partition)" in html


def test_a_silent_replica_that_leads_now_is_marked_as_the_leader() -> None:
    planned = outages.losing(0)
    (merged,) = merge_outcomes([[planned], [online(planned, 1)]]).outcomes
    logs = compute_extents(merged)
    assert logs is not None
    assert "1 leader silent" in logs.replicas


@pytest.mark.parametrize(
    ("outcomes", "tone"),
    [
        ([lossless(0)], "good"),
        ([outages.already_online(0)], "good"),
        ([outages.recovered(outages.would_recover(0, behind=0))], "warning"),  # a silent replica's records are unknown
        ([lossless(0), outages.recovered(outages.losing(1, lost=1))], "warning"),
        ([outages.would_recover(0)], "warning"),
        ([outages.refused(0)], "warning"),
        ([outages.failed(0)], "bad"),
    ],
)
def test_only_a_known_loss_of_nothing_is_green(tmp_path: Path, outcomes: list[Outcome], tone: str) -> None:
    assert page_of(tmp_path, outcomes).tone == tone


@pytest.mark.parametrize(
    ("name", "data", "is_damaged"),
    [
        ("package.json", b'{"name": "other"}', False),
        ("list.json", b"[1, 2]", False),
        ("null.json", b"null", False),
        ("cut.json", b'{"mode": "apply", "summ', True),
        ("empty.json", b"", True),
        ("binary.json", b"\xff\xfe\x00", True),
        ("deep.json", b"[" * 200_000, True),
        ("wrong.json", b'{"mode": "maybe", "summary": {}, "aftermath": []}', True),
        ("plan.json", b'{"digest": "", "leftAlone": []}', True),
    ],
)
def test_a_file_that_is_no_document_is_named_and_skipped(
    tmp_path: Path, name: str, data: bytes, *, is_damaged: bool
) -> None:
    (tmp_path / name).write_bytes(data)
    page = page_of(tmp_path, [lossless(0)])
    html = render_html(page).decode()
    assert page.verdict.startswith("1 of 1 partition recovered")
    assert page.tone == ("warning" if is_damaged else "good")
    assert str(tmp_path / name) in html
    assert ("could not be read" in html) == is_damaged


def test_a_run_names_the_damaged_file_and_skips_no_task(tmp_path: Path) -> None:
    page_of(tmp_path, [lossless(0)])
    (tmp_path / "cut.json").write_text("{", encoding="utf-8")
    (tmp_path / "package.json").write_text("{}", encoding="utf-8")
    html = tmp_path / "page.html"
    ran = run_playbook(INCIDENT, {"incident_report_dir": str(tmp_path), "incident_report_html": str(html)})
    assert (ran.returncode, ran.counts["skipped"]) == (0, 0), ran.output
    assert f"{tmp_path}/cut.json: could not be read, and may belong to this incident" in ran.words
    assert "package.json" not in ran.output
    assert html.is_file()


def test_a_directory_and_a_dangling_link_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "some.json").mkdir()
    (tmp_path / "gone.json").symlink_to(tmp_path / "nothing")
    page = page_of(tmp_path, [lossless(0)])
    assert page.tone == "warning"
    assert "2 files of the directory could not be read" in render_html(page).decode()


def test_a_file_whose_name_is_no_text_is_named_as_unread(tmp_path: Path) -> None:
    """Ansible refuses a result with the name that Python gives it, after the page is written."""
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.json")).write_text("{}", encoding="utf-8")
    (tmp_path / "report.json").write_text(json.dumps(a_report(outages.fourteen())), encoding="utf-8")
    documents = read_documents([], str(tmp_path))
    assert [each.path for each in documents.skipped] == [f"{tmp_path}/\N{REPLACEMENT CHARACTER}.json"]
    assert len(documents.sources) == 1


def test_a_given_file_is_not_skipped_and_not_read_twice(tmp_path: Path) -> None:
    page_of(tmp_path, [lossless(0)])
    read = read_documents([str(tmp_path / "0.json")], str(tmp_path))
    assert [each.path for each in read.sources] == [str(tmp_path / "0.json")]
    assert not read.skipped


def test_findings_of_all_runs_are_kept_and_the_last_of_each_wins() -> None:
    def finding(partition: int, explanation: str) -> dict[str, Any]:
        return {"kind": "will_truncate", "topic": "orders", "partition": partition, "explanation": explanation}

    first = [finding(0, "5 records"), finding(0, "6 records"), finding(1, "7 records")]
    merged = merge_aftermath([first, [finding(0, "8 records")], []])
    assert [each["explanation"] for each in merged] == ["8 records", "7 records"]


def test_the_axis_shows_a_break_unless_it_begins_at_zero(tmp_path: Path) -> None:
    html = render_html(page_of(tmp_path, [outages.recovered(outages.losing(0, lost=5))])).decode()
    assert "The zigzag is a break: the axis begins at offset " in html
    alike = replace(outages.would_recover(0, behind=0), leader_after=3)
    logs = compute_extents(alike)
    assert logs is not None
    assert (logs.first, logs.is_cut) == (0, False)
    assert "zigzag" not in render_html(page_of(tmp_path / "other", [alike])).decode()


def test_three_thousand_partitions_are_folded(tmp_path: Path) -> None:
    html = render_html(page_of(tmp_path, outages.three_thousand())).decode()
    assert "rows</summary>" in html
    outside = "".join(part.split("</details>")[-1] for part in html.split("<details>"))
    assert len(outside) < 150_000
    assert outside.count("<tr>") < 100


def steps_of(page: Page) -> list[tuple[str, str]]:
    assert page.sections[-1].title == "Next"
    (steps,) = (each for each in page.sections[-1].blocks if isinstance(each, Steps))
    return [(each.text, each.command) for each in steps.steps]


def test_next_never_starts_a_broker_that_runs_or_was_declared_lost(tmp_path: Path) -> None:
    brokers = a_report([])["brokers"]
    for state, is_named in (("unreachable", True), ("given_up", False), ("online", False)):
        given = [{**brokers[0], "state": state}, *brokers[1:]]
        texts = [text for text, _command in steps_of(page_of(tmp_path, [outages.refused(0)], brokers=given))]
        assert ("Broker 1 does not answer. Start it only with its old disk." in " ".join(texts)) is is_named, state


def test_next_looks_again_where_partitions_are_left(tmp_path: Path) -> None:
    *_others, (text, command) = steps_of(page_of(tmp_path, [outages.refused(0)]))
    assert text.startswith("Then look again. If broker 1 cannot return because it is lost for good, add -e")
    assert command == (
        "ansible-playbook kafkaops.recovery.recover_offline_partitions -e "
        "kafka_bootstrap_servers=kafka2.example.com:9092,kafka3.example.com:9092"
    )


def test_next_says_that_nothing_is_left(tmp_path: Path) -> None:
    ((_text, command),) = steps_of(page_of(tmp_path, [lossless(0)]))
    assert command.startswith("ansible-playbook kafkaops.recovery.check_readiness ")
