# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No promise is broken in random outages.

Power losses, new disks, unclean elections, several brokers at once, with and without ELR, reassignments, quick
restarts, failing log directories, known boot times of hosts, changed configs of topic, broker and cluster, and logs of
which a snapshot and the rest are left.
"""

from __future__ import annotations

import random
from collections import Counter

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.proof import judge_promise
from unit.history.fake_partition import ORDERS, FakePartition

_OUTAGES = 6_000


def test_who_is_said_to_hold_all_promised_records_holds_them() -> None:
    counted: Counter[str] = Counter()
    broken = []
    for seed in range(_OUTAGES):
        partition = FakePartition(random.Random(seed))
        if not partition.break_down():
            continue
        is_cut = seed % 4 == 0
        history = partition.history(is_cut=is_cut)
        kind = "cut" if is_cut else "elr" if partition.has_elr else "no elr"
        for survivor in partition.survivors:
            promise = judge_promise(history, ORDERS, survivor, is_empty=not partition.logs[survivor])
            missing = partition.missing(survivor)
            is_kept = promise.is_kept and not promise.unseen
            counted[kind if is_kept else "lacks" if missing else "unproven"] += 1
            counted["killed"] += is_kept and bool(promise.killed)
            if is_kept and missing:
                broken.append((seed, survivor, missing))
    assert not broken
    assert min(counted[each] for each in ("elr", "no elr", "cut", "lacks", "killed")) > 15, counted
