# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measure times. Standard library only."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.kit.row import Run


def timed(work: Callable[[], object]) -> Run:
    """Return the time of one call."""
    began = time.perf_counter()
    work()
    return Run(time.perf_counter() - began)


def in_turns(repeats: int, *works: Callable[[], Run]) -> list[tuple[Run, ...]]:
    """Run each function ``repeats`` times, alternately: a slow phase of the machine then affects all of them."""
    rounds = [[work() for work in works] for _round in range(repeats)]
    return list(zip(*rounds, strict=True))
