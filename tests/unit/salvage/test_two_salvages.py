# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ledger of a partition is about the records of all salvages; the account of a replay is about its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import ReportFile
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.ledger import Ledger
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.partition_replay import count_settled
from unit.report import salvages
from unit.salvage.saved import a_run

_OF_OTHERS = 135
"""Records of the partition that other salvages gave back."""


def test_what_other_salvages_gave_back_is_not_counted_as_given_back(tmp_path: Path) -> None:
    done = salvages.a_replay()
    rows = tuple(replace(each, given=0, given_before=_OF_OTHERS, left_out={}) for each in done.partitions)

    def account(own: int) -> tuple[int, int]:
        settled = {TopicPartition("orders", 0): own}
        report = ReportFile(str(tmp_path / f"{own}.json"))
        result = salvages.replay_result(replace(done, partitions=rows, settled_before=settled), report)
        total = result["account"]["total"]
        return total["given_back"], total["still_lost"]

    # The salvage has 230 records of partition 0 that are not of aborted transactions, and 10 of partition 1.
    assert account(0) == (0, 240)
    assert account(20) == (20, 220)


def test_only_records_that_consumers_would_get_count_as_settled() -> None:
    ledger = Ledger((EpochRange(3, 90, 102), EpochRange(3, 104, 106)), given=_OF_OTHERS)
    rows = [{"offset": offset} for offset in range(100, 110)]
    assert count_settled(ledger, a_run(*rows)) == 4
    assert count_settled(ledger, a_run(*({**each, "leader_epoch": 4} for each in rows))) == 0
    assert count_settled(ledger, a_run(*({**each, "transaction": "aborted"} for each in rows))) == 0
    assert count_settled(ledger, a_run(*({**each, "transaction": "committed"} for each in rows))) == 4
