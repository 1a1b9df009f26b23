# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Journals in files, opened and read without a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.file_log import (
    JOURNAL,
    FileLog,
    file_lock,
    path_for,
    read_entries,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal, pending_changes
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import Home, JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import Change

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"


def in_file(directory: str) -> JournalOptions:
    """Return the options of a run whose journal is a file."""
    return JournalOptions(home=Home.FILE, directory=directory)


@contextmanager
def open_journal(
    directory: str, cluster_id: str = CLUSTER_ID, *, sync: Callable[[int], None] = os.fsync
) -> Iterator[Journal]:
    """Return the journal in a file, under its lock."""
    with file_lock(directory, cluster_id):
        file = FileLog(path_for(directory, cluster_id, JOURNAL), sync=sync)
        yield Journal(file, pending_changes(file.entries, file.name))


def read_pending(directory: str, cluster_id: str = CLUSTER_ID) -> tuple[Change, ...]:
    """Return the pending changes of the journal in a file."""
    entries, _length = read_entries(path_for(directory, cluster_id, JOURNAL))
    return pending_changes(entries, "the journal")
