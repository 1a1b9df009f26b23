# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options and results of module salvage_replay. Decides nothing."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from typing import Any

from .._documents.report_file import ReportFile
from .._kafka.port import Kafka
from .._kafka.wire import Wire
from .._model.partition import TopicPartition
from .._model.run import KafkaOpsError, Progress
from .._module.connection import Arguments
from .._module.options import journal_options
from .._module.quorum_preflight import require_quorum
from .._module.run import to_json_types
from .account import Account, Balance, build_account_result, build_accounts
from .options import resolve_place
from .replay import Replay, Replayer, ReplayRequest
from .replay_progress import PROGRESS_TOPIC
from .replayed import LeftOut, ReplayStatus, Target, find_not_done
from .report import REPLAY_REPORT, ReplayReport, describe_failures, encode_replay_report, summarize_replay
from .targets import ReplayTerms

REPLAY = Arguments(
    argument_spec={
        "salvage_dir": {"type": "path", "required": True},
        "topics": {"type": "list", "elements": "str"},
        "target": {"type": "str", "choices": [each.value for each in Target], "default": Target.SIDE.value},
        "other_cluster": {"type": "bool", "default": False},
        "include_unknown": {"type": "bool", "default": False},
        "include_compacted": {"type": "bool", "default": False},
        "throttle_bytes_per_second": {"type": "int", "default": 0},
        "progress_topic": {"type": "str", "default": PROGRESS_TOPIC},
        "report_file": {"type": "path"},
        "max_rows": {"type": "int", "default": 1000},
    }
)


class ReplayOptionsError(KafkaOpsError):
    """An option of the replay is invalid."""


def parse_replay_request(params: Mapping[str, Any]) -> ReplayRequest:
    """Convert the module's options. Raises ReplayOptionsError or SalvageDirectoryError."""
    if params["topics"] is not None and not params["topics"]:
        raise ReplayOptionsError("topics is empty: leave it out to give every topic back")
    if params["throttle_bytes_per_second"] < 0:
        raise ReplayOptionsError("throttle_bytes_per_second is below 0: use 0 for no limit")
    target = Target(params["target"])
    if params["include_compacted"] and target is Target.SIDE:
        raise ReplayOptionsError("include_compacted goes with target=original: a side topic keeps every record anyway")
    if params["other_cluster"] and target is Target.ORIGINAL:
        raise ReplayOptionsError("other_cluster goes with target=side: the original topics are those of that cluster")
    never = frozenset({params["progress_topic"], params["journal_topic"]})
    return ReplayRequest(
        resolve_place(params["salvage_dir"]),
        None if params["topics"] is None else frozenset(params["topics"]),
        ReplayTerms(target, params["include_unknown"], params["include_compacted"], never),
        params["throttle_bytes_per_second"],
        params["progress_topic"],
        journal_options(params),
        params["other_cluster"],
    )


def replay(
    wire: Wire,
    request: ReplayRequest,
    params: Mapping[str, Any],
    progress: Progress,
    stop: threading.Event,
    *,
    check_mode: bool,
) -> Replay:
    """Give the saved records back. If there is nothing to give back, take no lock and write nothing.

    Raises KafkaOpsError.
    """
    replayer = Replayer(Kafka(wire), request, progress, stop)
    previewed = replayer.preview()
    if check_mode or not any(each.status is ReplayStatus.WOULD_BE_GIVEN_BACK for each in previewed.partitions):
        return previewed
    require_quorum(wire, params)
    return replayer.give_back()


def results_of(done: Replay, params: Mapping[str, Any], report_file: ReportFile) -> dict[str, Any]:
    """Write the report file and return the module's results. If something failed, ``msg`` says what."""
    summary = summarize_replay(done.partitions)
    accounts = build_accounts(_balances(done))
    report = ReplayReport(
        cluster_id=done.manifest.cluster_id,
        salvage_id=done.manifest.salvage_id,
        salvage_dir=params["salvage_dir"],
        target=Target(params["target"]),
        summary=summary,
        account=accounts,
        partitions=done.partitions,
    )
    report_error = report_file.write_or_explain(partial(encode_replay_report, report), REPLAY_REPORT)
    shown = done.partitions[: params["max_rows"]]
    would_change = any(each.status is ReplayStatus.WOULD_BE_GIVEN_BACK for each in done.partitions)
    results = {
        "changed": would_change or any(each.given for each in done.partitions),
        "cluster_id": done.manifest.cluster_id,
        "salvage_id": done.manifest.salvage_id,
        "salvage_dir": params["salvage_dir"],
        "target": params["target"],
        "summary": to_json_types(summary),
        "account": build_account_result(accounts, params["max_rows"]),
        "partitions": to_json_types(shown),
        "truncated": len(shown) < len(done.partitions),
    }
    failed = find_not_done(done.partitions)
    return results | describe_failures(failed, len(done.partitions), "given back", report_error)


def _balances(done: Replay) -> dict[TopicPartition, Balance]:
    """Count the held, saved and given back records of each partition of the chosen topics."""
    topics = {each.topic for each in done.partitions}
    accounts: dict[TopicPartition, Account] = defaultdict(Account)
    for held in done.manifest.held:
        if held.topic in topics:
            accounts[held.topic_partition].held += held.ranges
    for saved in done.manifest.partitions:
        if saved.topic in topics:
            accounts[saved.topic_partition].salvages.append(saved)
    for each in done.partitions:
        account = accounts[each.topic_partition]
        # The ledger of a partition is also about records that only other salvages have.
        settled_before = done.settled_before.get(each.topic_partition, 0)
        account.given = each.given + min(each.given_before, settled_before)
        now = sum(each.left_out.get(why, 0) for why in (LeftOut.NEWER_KEY, LeftOut.NO_KEY, LeftOut.HELD))
        account.settled = each.given + settled_before + now
    return {name: account.balance() for name, account in accounts.items()}
