# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tiered topics: offsets in the tier, on a replica's own disk, and unknown ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import Candidate, Flag
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.expected_loss import describe_forecast
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.forecast import (
    Forecast,
    explain_limit_refusal,
    forecast_losses,
)
from unit.recovery.wreckage import a_candidate, an_offline_partition

PARTITION = an_offline_partition(elr=(1,), last_known_elr=(1,), leader_epoch=1)
NOTHING_ELSE = "electing 3 loses nothing that replica 2 holds"


def tiered(broker_id: int, *, local: int | None, last: int | None) -> Candidate:
    """Return a candidate with offsets 0..149, of which its own disk has those from ``local`` on."""
    return replace(
        a_candidate(broker_id, (0, 150)),
        flags=(Flag.LOCAL_ONLY,),
        local_log_start_offset=local,
        last_tiered_offset=last,
    )


def of_first(*candidates: Candidate) -> Forecast:
    return forecast_losses(PARTITION, candidates, ())[0]


def test_a_replica_that_was_rebuilt_from_the_tier_lacks_nothing_that_the_tier_holds() -> None:
    found = of_first(tiered(3, local=100, last=None), tiered(2, local=0, last=119))
    assert (found.at_least, found.at_most) == (0, 0)
    assert describe_forecast(found) == (
        f"{NOTHING_ELSE}; the tier holds offsets 0..119, as broker 2 knows; the own disk of broker 3 has offsets from "
        "100 on only"
    )


@pytest.mark.parametrize(
    ("local", "last", "said"),
    [
        (100, 79, "offsets 80..99 are not known to be on its disk or in the tier"),
        (100, 98, "offset 99 is not known to be on its disk or in the tier"),
        (100, None, "offsets 0..99 are not known to be on its disk or in the tier"),
        (None, 79, "offsets 80..149 are not known to be on its disk or in the tier"),
        (None, None, "offsets 0..149 are not known to be on its disk or in the tier"),
    ],
)
def test_the_loss_of_records_missing_in_the_tier_is_unknown(local: int | None, last: int | None, said: str) -> None:
    found = of_first(tiered(3, local=local, last=last), tiered(2, local=0, last=None))
    assert (found.at_least, found.at_most) == (0, None)
    assert said in describe_forecast(found)
    refused = explain_limit_refusal(1000, found)
    assert refused is not None
    assert said.split(" not known", maxsplit=1)[0] in refused
    assert refused.endswith("and the limit is 1000")


def test_a_log_that_is_whole_on_its_own_disk_needs_no_tier() -> None:
    found = of_first(tiered(3, local=0, last=None), tiered(2, local=0, last=None))
    assert found.at_most == 0
    assert explain_limit_refusal(0, found) is None
    assert describe_forecast(found) == f"{NOTHING_ELSE}; what the tier holds is unknown: no replica that answered knows"


def test_other_topics_have_no_tier() -> None:
    found = of_first(a_candidate(3, (0, 150)), a_candidate(2, (0, 150)))
    assert found.tier is None
    assert describe_forecast(found) == NOTHING_ELSE
