# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A page about the committed offsets of groups."""

from __future__ import annotations

import json
from pathlib import Path

from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.plan import (
    Choice,
    CommitNeed,
    CommitStatus,
    CommitStep,
    GroupPlan,
    GroupReport,
    UnknownCommits,
    commit_outcome,
    encode_group_report,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.plan_file import GROUP_PLAN_FILE
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import RunMode
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.page import build_page
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.sources import read_sources
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.template import render_html

CLUSTER = "4L6g3nShT-eMCtK--X86sw"
STEP = CommitStep(
    group="billing",
    topic="orders",
    partition=7,
    topic_id="AAAAAAAAAAAAAAAAAAAAAg",
    leader_epoch=4,
    need=CommitNeed.WENT_BACK,
    committed=20,
    saved=200,
    log_start=0,
    log_end=350,
    target=200,
    target_epoch=-1,
    target_metadata="",
    choice=Choice.GIVE_BACK,
    reason="the salvage has this commit",
)


def test_the_page_says_what_became_of_each_group(tmp_path: Path) -> None:
    plan, report = tmp_path / "plan.json", tmp_path / "report.json"
    GROUP_PLAN_FILE.write(
        GroupPlan(
            cluster_id=CLUSTER,
            created_at="2026-01-31T10:00:00Z",
            salvage_ids=(),
            commits=(STEP,),
            read_to=(),
            transactions=(),
            unknown=(),
            notes=(),
        ),
        str(plan),
    )
    outcomes = (
        commit_outcome(STEP, CommitStatus.GIVEN_BACK),
        commit_outcome(STEP, CommitStatus.HAS_MEMBERS, "stop its consumers"),
    )
    written = encode_group_report(
        GroupReport(
            cluster_id=CLUSTER,
            salvage_ids=(),
            mode=RunMode.APPLY,
            undo_file="before.csv",
            share_undo_file=None,
            summary=dict.fromkeys(CommitStatus, 0),
            commits=outcomes,
            transactions=(),
            transaction_summary={},
            transactions_file=None,
            unknown=(UnknownCommits(("shipping",), "its coordinator is gone"),),
            notes=(),
        ),
        "2026-01-31T11:00:00Z",
        "2026-01-31T11:00:05Z",
    )
    report.write_text(json.dumps(written), encoding="utf-8")
    page = render_html(build_page(read_sources([str(plan), str(report)]), title="Groups")).decode()
    for text in (
        "Committed offsets to give back: 1.",
        "Committed offsets given back: 1; not given back: 1.",
        "Committed offsets of groups",
        "billing",
        "stop its consumers",
        "shipping: its coordinator is gone",
    ):
        assert text in page
