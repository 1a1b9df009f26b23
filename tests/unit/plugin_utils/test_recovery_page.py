# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The text of a recovery, as approved by a person (see approving.py)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.groups import group_outcomes
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.next_steps import Commands
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.account import Balance
from ansible_collections.kafkaops.recovery.plugins.plugin_utils import recovery_page
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.rendering import rendered
from unit.plugin_utils.approving import approve
from unit.plugin_utils.results import COMMANDS, a_recovery, an_advice
from unit.recovery import outages

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_WIDTHS = (80, 120, 200)
_SCREEN_LINES = 60


def _of_known_history() -> tuple[Outcome, ...]:
    """Return recovered partitions. Broker 1 led them alone for 3 to 9 s; the history of one is not known."""
    elected = [outages.recovered(each) for each in outages.three_thousand() if each.status == "would_recover"]
    timed = [outages.with_history(each, 3 + number % 7) for number, each in enumerate(elected)]
    return (elected[0], *timed[1:])


CASES: dict[str, tuple[Sequence[Outcome], int]] = {
    "1": ((outages.refused(),), 3),
    "14": (outages.fourteen(), 3),
    "3000": (outages.three_thousand(), 20),
    "3000-history": (_of_known_history(), 20),
}
"""Outcomes, and how many brokers the cluster has."""
AFTERMATH = [
    {
        "kind": "committed_beyond_end",
        "topic": "orders",
        "partition": 9,
        "explanation": "group billing committed offset 151, 1 beyond the log end 150",
    },
    {"kind": "will_truncate", "topic": "orders", "partition": 0, "explanation": "replica 1 was silent: unknown"},
    {"kind": "will_truncate", "topic": "orders", "partition": 1, "explanation": "replica 1 was silent: unknown"},
]


def shown(case: str, width: int, *, color: bool = False, rows: bool = False) -> str:
    outcomes, count = CASES[case]
    more: dict[str, Any] = {"aftermath": AFTERMATH} if case == "14" else {}
    result = a_recovery(outcomes, outages.brokers(count), **more)
    refused = sum(each.status == "refused" for each in outcomes)
    advice = [an_advice(1, refused)] if refused else []
    blocks = recovery_page.blocks(result, commands=COMMANDS, start_order=advice, rows=rows)
    return rendered(blocks, width, color=color)


@pytest.mark.parametrize("width", _WIDTHS[:2])
@pytest.mark.parametrize("case", CASES)
def test_the_text_is_the_approved_one(case: str, width: int) -> None:
    approve(f"recovery-{case}-{width}", shown(case, width))


@pytest.mark.parametrize("case", CASES)
def test_only_rows_become_wider_than_120_columns(case: str) -> None:
    assert shown(case, 200) == shown(case, 120)


@pytest.mark.parametrize("width", _WIDTHS)
def test_single_rows_are_the_approved_ones(width: int) -> None:
    approve(f"recovery-14-rows-{width}", shown("14", width, rows=True))


@pytest.mark.parametrize("width", _WIDTHS[:2])
def test_replicas_are_the_approved_ones(width: int) -> None:
    result = a_recovery(outages.fourteen()[8:11], outages.brokers())
    approve(f"replicas-{width}", rendered(recovery_page.replica_blocks(result), width, color=False))


def test_color_is_the_approved_one() -> None:
    approve("recovery-14-120-color", shown("14", 120, color=True, rows=True))


@pytest.mark.parametrize("width", _WIDTHS)
@pytest.mark.parametrize("case", CASES)
def test_color_changes_no_word(case: str, width: int) -> None:
    colored = _ESCAPE.sub("", shown(case, width, color=True, rows=True))
    assert [line.rstrip() for line in colored.splitlines()] == shown(case, width, rows=True).splitlines()


@pytest.mark.parametrize("width", _WIDTHS)
@pytest.mark.parametrize("case", ["3000", "3000-history"])
def test_an_outage_of_3000_partitions_fits_on_one_screen(case: str, width: int) -> None:
    lines = shown(case, width).splitlines()
    assert len(lines) <= _SCREEN_LINES
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("width", _WIDTHS)
def test_a_long_topic_and_a_long_reason_fit(width: int) -> None:
    outcome = replace(outages.failed(0, "t" * 249), reason="because " * 40)
    result = a_recovery([outcome], ())
    for blocks in (
        recovery_page.blocks(result, commands=Commands(), start_order=[], rows=True),
        recovery_page.replica_blocks(result),
    ):
        assert max(map(len, rendered(blocks, width, color=False).splitlines())) <= width


def test_of_a_look_the_partitions_that_are_left_alone_are_shown() -> None:
    result = a_recovery([outages.failed(0, "payments")], ())
    look = {**result, "partitions": [], "left_alone": result["partitions"]}
    pages = (
        rendered(recovery_page.blocks(each, commands=Commands(), start_order=[], rows=True), 120, color=False)
        for each in (result, look)
    )
    assert len(set(pages)) == 1


def test_the_engine_is_named_to_those_who_ask_for_more() -> None:
    outcomes, count = CASES["14"]
    result = a_recovery(outcomes, outages.brokers(count), engine={"name": "process", "reason": "Spark is away"})
    pages = {
        rows: rendered(recovery_page.blocks(result, commands=Commands(), start_order=[], rows=rows), 120, color=False)
        for rows in (True, False)
    }
    words = "Replicas ranked by the module's own process, without Spark: Spark is away."
    assert (words in pages[True], words in pages[False]) == (True, False)


def test_each_broker_that_is_awaited_is_named_once() -> None:
    outcomes, count = CASES["3000"]
    result = a_recovery(outcomes, outages.brokers(count))
    broker = {"state": "fenced", "cause": "down", "partitions": 3000, "limit_ms": 30_000, "has_returned": False}
    awaited = [
        {**broker, "broker_id": 1, "holds_back": 3000, "waited_ms": 30_000},
        {**broker, "broker_id": 2, "holds_back": 0, "waited_ms": 8_000, "has_returned": True},
        {**broker, "broker_id": 3, "holds_back": 0, "waited_ms": None},
    ]
    blocks = recovery_page.blocks(result, commands=COMMANDS, start_order=[], rows=False, awaited=awaited)
    text = rendered(blocks, 200, color=False)
    assert text.count("waited 30 s for broker 1, which did not return: 3,000 partitions wait for it") == 1
    assert text.count("broker 2 returned after 8 s") == 1
    assert text.count("a run that elects would wait up to 30 s for broker 3: its answer may decide 3,000") == 1
    assert "set unclean_recovery_lost_brokers: [3]" in text
    declared = replace(COMMANDS, lost_brokers=[7])
    blocks = recovery_page.blocks(result, commands=declared, start_order=[], rows=False, awaited=awaited)
    assert "set unclean_recovery_lost_brokers: [3, 7]" in rendered(blocks, 200, color=False)


@pytest.mark.parametrize("width", _WIDTHS)
def test_what_only_other_replicas_held_is_accounted_and_given_back_next(width: int) -> None:
    held = {"topic": "orders", **asdict(Balance(50, 50, 0, 50, 50)), "reason": ""}
    lost = {"topic": "orders", **asdict(Balance(7, 2, 0, 7, 2)), "reason": "broker 2 hung \x1b[31m"}
    partitions = [{**held, "partition": number} for number in range(20)] + [{**lost, "partition": 20}]
    salvage = {"salvage_id": "s", "salvage_dir": "/var/tmp/saved", "partitions": partitions}
    command = [
        "ansible-playbook",
        "kafkaops.recovery.replay_salvaged_records",
        "-e",
        "salvage_replay_dir=/var/tmp/saved",
    ]
    result = a_recovery([outages.recovered(outages.losing(0))], (), salvage=salvage)
    blocks = recovery_page.blocks(result, commands=replace(COMMANDS, replays=[command]), start_order=[], rows=False)
    text = rendered(blocks, width, color=False)
    lines = [line.split() for line in text.splitlines()]
    words = " ".join(text.split())
    assert "Still lost: 1,007. Of these, 1,002 are saved and can be given back. Saved in /var/tmp/saved." in words
    assert "all 1007 1002 0 1007" in words
    assert lines.index(next(line for line in lines if line[:5] == ["orders-20", "7", "2", "0", "7"])) < lines.index(
        ["orders", "0-19,", "all", "alike", "50", "50", "0", "50"]
    )
    assert "broker 2 hung ?[31m" in words
    assert "salvage_replay_dir=/var/tmp/saved" in words


def test_what_a_terminal_would_obey_is_not_printed() -> None:
    outcome = replace(outages.failed(0), reason="a\x1b[31mb [red]c")
    text = rendered(
        recovery_page.blocks(a_recovery([outcome], ()), commands=Commands(), start_order=[], rows=True), 120, color=True
    )
    assert "a?[31mb [red]c" in _ESCAPE.sub("", text)


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        ((), "No partition is offline."),
        ((outages.already_online(0),), "1 of 1 partition already online."),
        ((outages.failed(0), outages.already_online(1)), "1 of 2 partitions already online; 1 failed."),
        (
            (outages.recovered(outages.losing(0)), outages.already_online(1)),
            "1 of 2 partitions recovered; 1 already online; "
            "at least 5 records were lost, and how many more is unknown.",
        ),
    ],
)
def test_the_verdict(outcomes: Sequence[Outcome], verdict: str) -> None:
    assert recovery_page.verdict(a_recovery(outcomes, ()), []) == verdict


@pytest.mark.parametrize(
    ("at_least", "at_most", "words", "cell"),
    [
        (5, 9, "5 to 9 records were lost", "5 to 9"),
        (5, 5, "5 records were lost", "5"),
        (1, 1, "1 record was lost", "1"),
        (0, 0, "no record was lost", "0"),
        (0, 2, "0 to 2 records were lost", "0 to 2"),
        (0, None, "whether records were lost is unknown", "unknown"),
        (5, None, "at least 5 records were lost, and how many more is unknown", "≥ 5"),
    ],
)
def test_a_loss_is_said_with_what_is_known_of_it(at_least: int, at_most: int | None, words: str, cell: str) -> None:
    outcome = outages.recovered(outages.losing(0))
    losses = tuple(replace(each, at_least=at_least, at_most=at_most) for each in outcome.losses)
    result = a_recovery([replace(outcome, losses=losses)], ())
    assert recovery_page.verdict(result, []) == f"1 of 1 partition recovered; {words}."
    lines = rendered(recovery_page.replica_blocks(result), 200, color=False).splitlines()
    assert [line for line in lines if "* 3" in line and line.endswith(f"  {cell}")]


def test_of_several_partitions_it_is_said_for_how_many_the_loss_is_unknown() -> None:
    unknown, known = outages.recovered(outages.losing(0)), outages.recovered(outages.losing(1))
    known = replace(known, losses=tuple(replace(each, at_most=each.at_least) for each in known.losses))
    assert recovery_page.verdict(a_recovery([unknown, known], ()), []) == (
        "2 of 2 partitions recovered; at least 10 records were lost, and how many more is unknown for 1 partition."
    )


def test_one_unknown_history_hides_no_other() -> None:
    timed = [outages.with_history(outages.recovered(outages.would_recover(each)), 3 + each) for each in range(3)]
    idle = replace(timed[2], losses=tuple(replace(each, estimate=None) for each in timed[2].losses))
    unknown = outages.recovered(outages.would_recover(3))
    verdicts = [recovery_page.verdict(a_recovery(each, ()), []) for each in (timed, [*timed[:2], idle, unknown])]
    assert verdicts == [
        "3 of 3 partitions recovered; at most 11 s of writes were lost for 3 partitions, "
        "estimated: about 120 records, 60 to 360.",
        "4 of 4 partitions recovered; at most 11 s of writes were lost for 3 partitions, "
        "estimated for 2 of them: about 70 records, 35 to 210; the loss of 1 partition is unknown.",
    ]


def test_partitions_are_alike_if_only_their_seconds_differ() -> None:
    timed = [outages.with_history(outages.would_recover(each), 3 + each) for each in range(3)]
    members = group_outcomes([*timed, outages.would_recover(3)])
    assert [each.group.partitions for each in members] == [3, 1]
    assert "may hold what was written in the last 11 s before the loss" in members[0].group.loss


def test_no_failure_when_all_is_accepted() -> None:
    assert recovery_page.failure({"summary": {"recovered": 2, "refused": 0}}, ["recovered"]) == ""
    assert (
        recovery_page.failure({"summary": {"recovered": 2}, "report_fault": "disk full"}, ["recovered"]) == "disk full"
    )


@pytest.mark.parametrize("status", ["refused", "unrecoverable", "unknown", "failed"])
def test_a_look_fails_without_the_word_recovered(status: str) -> None:
    text = recovery_page.failure({"summary": {status: 2}}, ["recovered", "already_online", "would_recover"])
    assert text == f"2 of 2 partitions need attention: 2 {status}; the reasons are above"


def test_a_failure_names_the_partitions() -> None:
    """The message may be all that is kept of a run, on stderr."""
    rows = [{"topic": "orders", "partition": number, "status": "refused"} for number in (0, 1, 2, 7)]
    failed = {"topic": "payments", "partition": 0, "status": "failed"}
    result = {"summary": {"refused": 4, "failed": 3}, "partitions": [*rows, failed]}
    assert recovery_page.failure(result, ["recovered"]).startswith(
        "7 of 7 partitions are not recovered: 4 refused (orders 0-2, 7), 3 failed (payments 0 and others)"
    )


def test_a_failure_counts_what_is_not_accepted() -> None:
    result = {"summary": {"recovered": 2, "refused": 1}, "leftovers": [{"undoing": "failed"}, {"undoing": "restored"}]}
    assert recovery_page.failure(result, ["recovered"]) == (
        "1 of 3 partitions is not recovered: 1 refused; "
        "1 replica orders that an earlier run changed are not restored; the reasons are above"
    )


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (1, "1 partition is led by brokers that do not answer. "),
        (3, "3 partitions are led by brokers that do not answer. "),
        (0, ""),
    ],
)
def test_leaders_that_do_not_answer_come_first(count: int, words: str) -> None:
    result = {"summary": {"unknown": count}, "led_by_silent": count}
    verdict, failure = recovery_page.verdict(result, []), recovery_page.failure(result, ["recovered"])
    assert verdict.startswith(words)
    assert failure.startswith(words)
    assert bool(failure) == bool(words)
