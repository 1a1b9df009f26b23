# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The settings of the log cleaner (KIP-226), as a broker names them. Standard library only."""

from __future__ import annotations

ENABLE = "log.cleaner.enable"
THREADS = "log.cleaner.threads"
BACKOFF_MS = "log.cleaner.backoff.ms"
IO_BUFFER_SIZE = "log.cleaner.io.buffer.size"
DEDUPE_BUFFER_SIZE = "log.cleaner.dedupe.buffer.size"
IO_MAX_BYTES_PER_SECOND = "log.cleaner.io.max.bytes.per.second"
LOAD_FACTOR = "log.cleaner.io.buffer.load.factor"

DYNAMIC = (BACKOFF_MS, THREADS, IO_BUFFER_SIZE, DEDUPE_BUFFER_SIZE, LOAD_FACTOR, IO_MAX_BYTES_PER_SECOND)
"""Those that can be changed in a running broker. A change of any of them restarts all its cleaner threads."""
SHOWN = (
    ENABLE,
    *DYNAMIC,
    "log.cleaner.min.cleanable.ratio",
    "log.cleaner.min.compaction.lag.ms",
    "log.cleaner.max.compaction.lag.ms",
    "log.cleaner.delete.retention.ms",
)
