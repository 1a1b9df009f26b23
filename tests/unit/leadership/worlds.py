# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partitions and orders for tests."""

from __future__ import annotations

from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.orders import Order
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState

TOPIC_ID = "0kfAK7wCTDmDzRwEXhGdqg"
OTHER_TOPIC_ID = "1kfAK7wCTDmDzRwEXhGdqg"

ORDERS = st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True).map(tuple)
LISTED = st.frozensets(st.integers(0, 9), max_size=6)


def a_state(replicas: Order, *, leader: int | None = None, topic_id: str = TOPIC_ID) -> PartitionState:
    return PartitionState(
        topic="orders",
        partition=0,
        topic_id=topic_id,
        leader_id=replicas[0] if leader is None else leader,
        leader_epoch=0,
        replicas=replicas,
        isr=replicas,
        elr=None,
        last_known_elr=None,
        offline_replicas=(),
    )
