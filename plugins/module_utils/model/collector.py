# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Python's cyclic garbage collector, kept out of the way while very many objects are made. Standard library only."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """No search for cycles in a ``with`` block, in any thread.

    For work that makes objects by the hundred thousand and keeps them: the collector looks through all of them again
    and again, and finds nothing. That was 45 % of the CPU time of asking a broker (docs/benchmarks.md). What is in no
    cycle is freed as always.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
