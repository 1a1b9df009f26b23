# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Spark is used for many replicas, or if the operator chose it, and only if it has started."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.gather import (
    MOST_WITHOUT_SPARK,
    Engines,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_this_host import OnThisHost, processes_for
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import SparkOptions


@pytest.mark.parametrize(
    ("options", "replicas", "needs_spark"),
    [
        (None, 1, False),
        (None, MOST_WITHOUT_SPARK, False),
        (None, MOST_WITHOUT_SPARK + 1, True),
        (SparkOptions(), 1, True),
    ],
)
def test_the_number_of_replicas_or_the_operator_decides(
    options: SparkOptions | None, replicas: int, needs_spark: bool
) -> None:
    assert Engines(options).needs_spark(replicas) is needs_spark


def test_few_replicas_do_not_start_spark() -> None:
    with Engines(None) as engines:
        engines.start_if_needed(MOST_WITHOUT_SPARK)
        assert isinstance(engines.engine_for(MOST_WITHOUT_SPARK), OnThisHost)


@pytest.mark.parametrize(("replicas", "processes"), [(0, 1), (99_999, 1), (100_000, 2)])
def test_many_replicas_are_asked_in_several_processes(replicas: int, processes: int) -> None:
    assert processes_for(replicas, cores=8) == processes


@pytest.mark.parametrize(("cores", "processes"), [(None, 1), (1, 1), (2, 2), (64, 4)])
def test_a_process_uses_one_core(cores: int | None, processes: int) -> None:
    assert processes_for(MOST_WITHOUT_SPARK, cores) == processes
