# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Spark is used for many replicas, or if the operator chose it, and only if it has started."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.gather import (
    MOST_IN_PROCESS,
    Engines,
    InProcess,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import SparkOptions


@pytest.mark.parametrize(
    ("options", "replicas", "needs_spark"),
    [
        (None, 1, False),
        (None, MOST_IN_PROCESS, False),
        (None, MOST_IN_PROCESS + 1, True),
        (SparkOptions(), 1, True),
    ],
)
def test_the_number_of_replicas_or_the_operator_decides(
    options: SparkOptions | None, replicas: int, needs_spark: bool
) -> None:
    assert Engines(options).needs_spark(replicas) is needs_spark


def test_few_replicas_do_not_start_spark() -> None:
    with Engines(None) as engines:
        engines.start_if_needed(MOST_IN_PROCESS)
        assert isinstance(engines.engine_for(MOST_IN_PROCESS), InProcess)
