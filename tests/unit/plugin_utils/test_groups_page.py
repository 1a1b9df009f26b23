# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a person reads of groups that need their committed offsets back."""

from __future__ import annotations

from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.plan import CommitStatus, TransactionStatus
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.groups_page import blocks, failure
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.rendering import rendered

VARIABLES = {"kafka_bootstrap_servers": ["kafka2:9092"], "group_recovery_salvage_dir": "/saved"}


def a_commit(status: str, **more: Any) -> dict[str, Any]:
    place = {"group": "billing", "topic": "orders", "partition": 0, "need": "went_back"}
    offsets = {"committed": 20, "saved": 200, "log_start": 0, "log_end": 350, "target": 200}
    return {**place, **offsets, "status": status, "reason": "the salvage has this commit", **more}


def a_transaction(status: str, reason: str = "") -> dict[str, Any]:
    place = {"topic": "orders", "partition": 3, "producer_id": 4711, "start_offset": 320, "last_timestamp_ms": 1}
    return {**place, "status": status, "reason": reason}


def a_result(*commits: dict[str, Any], transactions: tuple[dict[str, Any], ...] = (), **more: Any) -> dict[str, Any]:
    summary = {each.value: sum(one["status"] == each.value for one in commits) for each in CommitStatus}
    aborts = {each.value: sum(one["status"] == each.value for one in transactions) for each in TransactionStatus}
    found = {"commits": list(commits), "transactions": list(transactions), "transactions_file": None}
    empty: dict[str, Any] = {
        "unknown": [],
        "notes": [],
        "undo_file": None,
        "share_undo_file": None,
        "plan_digest": None,
    }
    return {**empty, **found, "summary": summary, "transaction_summary": aborts, **more}


def printed(result: dict[str, Any], **variables: Any) -> str:
    return " ".join(rendered(blocks(result, {**VARIABLES, **variables}), 200, color=False).split())


def test_nothing_to_do() -> None:
    assert printed(a_result()) == "No group needs its committed offsets back, and no transaction hangs."
    assert failure(a_result(), is_need_bad=True) == ""


def test_a_look_names_the_group_and_the_next_command_and_fails() -> None:
    found = a_result(a_commit("would_give_back"))
    text = printed(found)
    assert text.startswith("1 committed offset would be given back.")
    assert "billing orders-0 went back would give back 20 200 200 the salvage has this commit" in text
    assert (
        "Carry it out: ansible-playbook kafkaops.recovery.restore_groups -e kafka_bootstrap_servers=kafka2:9092" in text
    )
    assert "-e group_recovery_salvage_dir=/saved" in text
    assert text.endswith("-e group_recovery_automated_recovery=true")
    assert failure(found, is_need_bad=True) == (
        "groups or transactions need a change: 1 would give back; the reasons are above"
    )
    assert failure(found, is_need_bad=False) == "", "a prediction in check mode is no failure"


def test_the_partitions_of_a_topic_are_one_row_of_their_group() -> None:
    commits = [a_commit("would_give_back", partition=number, committed=20 + number) for number in range(40)]
    other = a_commit("would_give_back", group="mails", saved=None, committed=None, target=9)
    found = a_result(*commits, other)
    text = printed(found)
    assert "billing orders 0-39 went back would give back 20 to 59 200 200" in text
    assert "mails orders-0 went back would give back - - 9" in text
    assert "not shown" not in text
    rows = " ".join(rendered(blocks(found, VARIABLES, rows=True), 200, color=False).split())
    assert "billing orders-39 went back would give back 59 200 200" in rows


def test_the_next_command_of_a_plan_carries_out_the_plan() -> None:
    found = a_result(a_commit("would_give_back"), plan_digest="sha256:12")
    text = printed(found, group_recovery_manual_output_file="plan.json")
    assert "Let a second person review plan.json (sha256:12), then carry it out:" in text
    assert "-e group_recovery_plan_file=plan.json" in text
    assert "salvage_dir" not in text


def test_what_is_not_given_back_fails_with_its_reason() -> None:
    found = a_result(
        a_commit("given_back"),
        a_commit("has_members", partition=1, reason="the group is Stable"),
        unknown=[{"groups": [], "reason": "broker 4 does not answer"}],
        undo_file="/before.csv",
        share_undo_file="/before.csv.share-groups",
    )
    text = printed(found)
    assert text.startswith(
        "1 committed offset given back; 1 committed offset not given back; not everything could be looked at."
    )
    assert "any group broker 4 does not answer" in text
    assert "has members billing at orders-1: the group is Stable" in text
    assert "The committed offsets before the change are in /before.csv." in text
    assert "The start offsets of share groups before the change are in /before.csv.share-groups." in text
    assert "Next" not in text
    assert "1 has members; not everything could be looked at" in failure(found, is_need_bad=False)
    unknown = failure(a_result(unknown=found["unknown"]), is_need_bad=True)
    assert unknown == "not everything could be looked at; the reasons are above"


def test_a_hanging_transaction_is_aborted_only_with_the_operator_s_word() -> None:
    found = a_result(transactions=(a_transaction("hanging", "it is not aborted without the operator's word"),))
    text = printed(found)
    assert text.startswith("1 transaction that no coordinator has is open.")
    assert "orders-3 hanging 4711 320 it is not aborted" in text
    assert "Abort the hanging transactions, which cannot be undone. If an election lost" in text
    assert "To abort: ansible-playbook" in text
    assert "-e group_recovery_abort_hanging_transactions=true" in text
    assert text.endswith("-e group_recovery_automated_recovery=true")
    assert "1 transaction hanging" in failure(found, is_need_bad=False)


def test_an_aborted_transaction_is_named_with_its_file() -> None:
    done = a_result(transactions=(a_transaction("aborted"),), transactions_file="/before.csv.transactions")
    text = printed(done)
    assert text.startswith("1 hanging transaction aborted.")
    assert "The transactions that were to be ended are in /before.csv.transactions." in text
    assert failure(done, is_need_bad=True) == ""


def test_a_prediction_in_check_mode_is_no_failure() -> None:
    found = a_result(transactions=(a_transaction("would_abort"),))
    assert (failure(found, is_need_bad=False), bool(failure(found, is_need_bad=True))) == ("", True)
