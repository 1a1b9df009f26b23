# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The account: still lost records, computed from held, saved and given back ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.account import (
    Account,
    Balance,
    describe_still_lost,
    sum_balances,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.saved import SavedRecords
from unit.salvage.saved import SAVED


def salvaged(start: int, end: int, **counts: int) -> SavedRecords:
    part = replace(SAVED, ranges=(EpochRange(0, start, end),), records=end - start)
    return replace(part, **counts)  # type: ignore[arg-type]  # the names are of numbers


HELD = [EpochRange(0, 100, 350)]
WHOLE = salvaged(100, 350)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"held": HELD}, Balance(250, 0, 0, 250, 0)),
        ({"held": HELD, "salvages": [WHOLE]}, Balance(250, 250, 0, 250, 250)),
        ({"held": HELD, "salvages": [WHOLE], "given": 250, "settled": 250}, Balance(250, 250, 250, 0, 0)),
        ({"held": HELD, "salvages": [WHOLE], "given": 200, "settled": 240}, Balance(250, 250, 200, 10, 10)),
        ({"held": HELD, "salvages": [WHOLE], "is_elected": False}, Balance(250, 250, 0, 0, 0)),
        ({"held": HELD, "salvages": [WHOLE], "given": None}, Balance(250, 250, None, None, 0)),
        ({"is_compared": False}, Balance(None, 0, 0, None, 0)),
        # 20 offsets are of aborted transactions and 10 of markers.
        (
            {"held": HELD, "salvages": [salvaged(100, 350, records=240, aborted=20)], "given": 220, "settled": 220},
            Balance(250, 240, 220, 0, 0),
        ),
        ({"salvages": [salvaged(100, 350, records=249, undecodable_batches=1)]}, Balance(250, 249, 0, 250, 250)),
    ],
)
def test_one_partition(known: dict[str, Any], expected: Balance) -> None:
    assert Account(**known).balance() == expected


def test_records_in_two_salvages_count_once() -> None:
    aborted = salvaged(100, 350, aborted=20)
    again = salvaged(100, 150, aborted=20)
    assert Account(salvages=[again, aborted], given=230, settled=230).balance() == Balance(250, 250, 230, 0, 0)
    overlapping: list[SavedRecords] = [salvaged(100, 200), salvaged(150, 350)]
    assert Account(salvages=overlapping).balance() == Balance(250, 250, 0, 250, 250)


def test_the_sum_names_unknown_partitions() -> None:
    rows = [Account(held=HELD, salvages=[salvaged(100, 300)]).balance(), Account(is_compared=False).balance()]
    assert describe_still_lost(sum_balances(rows)) == (
        "Still lost: at least 250; unknown for 1 of 2 partitions. Of these, 200 are saved and can be given back."
    )
    assert describe_still_lost(sum_balances([])) == "No record that was found on another replica or disk is still lost."
