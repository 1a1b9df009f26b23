# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A leader has its disk if it has stayed in the ISR, in one process, since another replica was in sync with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.kept_disk import (
    KeptDiskQuestion,
    has_kept_disk,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.metadata_history import (
    BrokerMoment,
    MetadataHistory,
    PartitionMoment,
)
from unit.history.test_promise import ALONE, CREATED, LEFT, NOW, ORDERS, STARTED, moment, restart
from unit.history.test_promise import history as of_promise

SHARED = (moment(CREATED, 2, 1, 2, 3), moment(LEFT, 2, 1, 2))
OUTAGE = (*SHARED, moment(ALONE, 1, 1))


def history(*moments: PartitionMoment, starts: Sequence[BrokerMoment] = STARTED) -> MetadataHistory:
    return of_promise(*moments, brokers={1: starts})


@pytest.mark.parametrize(
    ("found", "is_kept"),
    [
        pytest.param(history(*OUTAGE), True, id="it ran on"),
        pytest.param(history(*OUTAGE, starts=restart(LEFT - 1, clean=True)), True, id="it restarted before"),
        pytest.param(history(*OUTAGE, starts=restart(LEFT, clean=True)), False, id="it restarted at that time"),
        pytest.param(
            history(*OUTAGE, starts=restart(NOW, clean=True)), False, id="it restarted, with the same directory id"
        ),
        pytest.param(history(moment(CREATED, 1, 1)), False, id="no other replica was ever in sync"),
        pytest.param(history(*SHARED, moment(ALONE, 2, 2), moment(NOW, 1, 1)), False, id="another one led alone"),
        pytest.param(history(*SHARED, moment(ALONE, 1, 1, unclean=True)), False, id="an unclean election"),
        pytest.param(replace(history(*OUTAGE), not_decoded=1), False, id="records of an unknown type"),
        pytest.param(replace(history(*OUTAGE), ends_early=True), False, id="a copy of the log"),
        pytest.param(replace(history(*OUTAGE), disordered_until_ms=LEFT), False, id="clocks that differ"),
        pytest.param(replace(history(*OUTAGE), partitions={}), False, id="nothing about the partition"),
    ],
)
def test_what_proves_it(found: MetadataHistory, is_kept: bool) -> None:
    assert has_kept_disk(found, ORDERS, 1) == is_kept


def test_the_log_is_read_back_to_the_last_shared_isr() -> None:
    question = KeptDiskQuestion({ORDERS: "id"}, {ORDERS: 1})
    assert question.is_answered(history(*OUTAGE))
    late = history(moment(ALONE, 1, 1))
    assert not question.is_answered(late)
    assert question.explain_unanswered(late, 70) == (
        "the metadata log, which begins at offset 70, does not say it of 1 partition"
    )
