# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Taking the time. Standard library only."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.kit.row import Run


def timed(work: Callable[[], object]) -> Run:
    """How long one call takes."""
    began = time.perf_counter()
    work()
    return Run(time.perf_counter() - began)


def in_turns(repeats: int, *works: Callable[[], Run]) -> list[tuple[Run, ...]]:
    """Run each ``repeats`` times in turns: a machine that slows down slows all of them."""
    rounds = [[work() for work in works] for _round in range(repeats)]
    return list(zip(*rounds, strict=True))
