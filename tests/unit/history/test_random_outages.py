# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No promise is broken in random outages: power losses, new disks, unclean elections, several brokers at once."""

from __future__ import annotations

import random
from collections import Counter

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.proof import judge_promise
from unit.history.fake_partition import ORDERS, FakePartition

_OUTAGES = 3_000


def test_who_is_said_to_hold_all_promised_records_holds_them() -> None:
    counted: Counter[str] = Counter()
    broken = []
    for seed in range(_OUTAGES):
        partition = FakePartition(random.Random(seed))
        if not partition.break_down():
            continue
        history = partition.history()
        for survivor in partition.survivors:
            promise = judge_promise(history, ORDERS, survivor, is_empty=not partition.logs[survivor])
            missing = partition.missing(survivor)
            counted["kept" if promise.is_kept else "lacks" if missing else "unproven"] += 1
            if promise.is_kept and missing:
                broken.append((seed, survivor, missing))
    assert not broken
    assert min(counted["kept"], counted["lacks"]) > 100, counted
