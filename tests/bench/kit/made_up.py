# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fake answer of a broker. It has its own file, so that workers import no more modules than in a play."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Broker,
    EpochEnd,
    ReplicaLog,
    TopicPartition,
)


def made_up_answer(
    settings_reference: str, broker: Broker, partitions: Sequence[TopicPartition], deadline: float
) -> list[ReplicaLog]:
    """Return a broker's answer at once: the higher its id, the longer its logs."""
    end = broker.broker_id
    return [
        ReplicaLog(each.topic, each.partition, broker.broker_id, 0, end, 0, 0, (EpochEnd(0, end),))
        for each in partitions
    ]
