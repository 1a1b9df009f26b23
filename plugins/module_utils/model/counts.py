# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many things ended in which way. Standard library only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum


def counted(statuses: Iterable[StrEnum], kind: type[StrEnum]) -> dict[str, int]:
    """How many of each status; every status is there."""
    counts = Counter(statuses)
    return {status.value: counts[status] for status in kind}
