# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Count what replicas answered, for a person. Pure; standard library only."""

from __future__ import annotations

from typing import TypedDict


class Summary(TypedDict):
    """The result ``summary`` of ``replica_log_info``. Both engines make it."""

    partitions: int
    replicas: int
    answered: int
    silent: dict[str, int]
    """The number of replicas without an answer, by cause."""
