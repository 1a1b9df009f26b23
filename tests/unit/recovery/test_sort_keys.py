# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One table of keys makes the order in Python and in Spark SQL."""

from __future__ import annotations

from types import SimpleNamespace

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import AnsweredLog
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.rows import REPLICA_LOG_SCHEMA
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.sort_keys import (
    RANKING,
    SortKey,
    python_order,
    sql_order,
)

_KEYS = (SortKey("epoch", highest_first=True), SortKey("place", highest_first=False))


def test_each_key_is_a_field_and_a_column() -> None:
    assert {each.field for each in RANKING} <= {*AnsweredLog._fields} & {*REPLICA_LOG_SCHEMA.names}


def test_python_sorts_by_the_keys_with_missing_values_last() -> None:
    rows = [SimpleNamespace(epoch=epoch, place=place) for epoch in (None, 1, 2) for place in (None, 1, 0)]
    found = [(each.epoch, each.place) for each in sorted(rows, key=python_order(_KEYS))]
    assert found == [(2, 0), (2, 1), (2, None), (1, 0), (1, 1), (1, None), (None, 0), (None, 1), (None, None)]


def test_spark_s_text_has_the_same_keys() -> None:
    assert sql_order(_KEYS) == "epoch DESC NULLS LAST, place ASC NULLS LAST"
