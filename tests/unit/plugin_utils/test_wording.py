# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What modules return, in a person's words."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import wording
from unit.plugin_utils.results import BROKERS, an_outcome


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(None, "-"), (0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (11034, "10.8 KiB"), (5 * 1024**4, "5 TiB")],
)
def test_sizes(size_bytes: int | None, text: str) -> None:
    assert wording.size(size_bytes) == text


def test_what_a_terminal_would_obey_is_not_printed() -> None:
    assert wording.printable("a\x1b[31mb\nc") == "a?[31mb?c"


def test_a_leader_change() -> None:
    assert wording.leader_change(an_outcome()) == "none → 3"
    assert wording.leader_change(an_outcome(status="would_recover", leader_after=None)) == "none → 3"
    assert wording.leader_change(an_outcome(status="already_online", leader_before=2, leader_after=2)) == "2"
    assert wording.leader_change(an_outcome(status="unknown", leader_before=None, leader_after=None)) == "?"


def test_brokers_that_are_well_are_only_counted() -> None:
    assert wording.broker_lines(BROKERS) == ["brokers: 1 of 2 online", "broker 1: unreachable: no connection"]


def test_an_error_that_is_told_of_the_broker_is_not_told_again() -> None:
    silent = {"cause": "log_dir_offline", "error": "disk gone"}
    assert wording.reason_of_silence(silent, frozenset()) == "silent: log dir offline: disk gone"
    assert wording.reason_of_silence(silent, {"disk gone"}) == "silent: log dir offline"


def test_a_summary_names_only_what_there_is() -> None:
    assert wording.summary({"recovered": 2, "already_online": 0, "unrecoverable": 1}) == (
        "3 partitions: 2 recovered, 1 unrecoverable"
    )


def test_no_failure_when_all_is_accepted() -> None:
    assert wording.failure({"summary": {"recovered": 2, "refused": 0}}, ["recovered"]) == ""
    assert wording.failure({"summary": {"recovered": 2}, "report_fault": "disk full"}, ["recovered"]) == "disk full"


def test_a_failure_counts_what_is_not_accepted() -> None:
    told = {"summary": {"recovered": 2, "refused": 1}, "leftovers": [{"undoing": "failed"}, {"undoing": "restored"}]}
    assert wording.failure(told, ["recovered"]) == (
        "1 of 3 partitions are not recovered: 1 refused; "
        "1 replica orders that an earlier run changed are not put back; the reasons are above"
    )


def test_a_loss_is_told_with_what_is_not_known() -> None:
    told = {"broker_id": 3, "at_least": 5, "at_most": None, "explanation": "electing 3 loses offsets 10..14"}
    outcome = an_outcome(losses=[told])
    best, second = outcome["candidates"]
    assert (wording.loss(outcome, best), wording.loss(outcome, second)) == ("≥5", "-")
    assert wording.loss(an_outcome(losses=[{**told, "at_most": 5}]), best) == "5"


def test_the_broker_to_start_first_comes_first() -> None:
    assert wording.start_order_lines([]) == []
    assert wording.start_order_lines([{"explanation": "broker 1: last leader of 3"}]) == [
        "which broker to start first:",
        "1. broker 1: last leader of 3",
    ]
    assert wording.is_any_left({"recovered": 2, "refused": 1})
    assert not wording.is_any_left({"recovered": 2, "already_online": 1, "refused": 0}), "then nobody needs to start"


def test_what_is_left_behind_is_told_with_its_partition() -> None:
    assert wording.aftermath_lines([]) == []
    found = {"kind": "will_truncate", "topic": "orders", "partition": 0, "explanation": "replica 1 was silent"}
    unknown = {"kind": "not_known", "topic": None, "partition": None, "explanation": "groups: not known"}
    assert wording.aftermath_lines([found, unknown]) == [
        "left behind:",
        "orders-0: replica 1 was silent",
        "groups: not known",
    ]
