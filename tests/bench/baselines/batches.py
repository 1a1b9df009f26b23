# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partitions cut into requests. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

PARTITIONS_PER_REQUEST = 1000
"""KIP-966's limit."""


def batches(partitions: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield slices of at most PARTITIONS_PER_REQUEST, in order."""
    for start in range(0, len(partitions), PARTITIONS_PER_REQUEST):
        yield partitions[start : start + PARTITIONS_PER_REQUEST]
