# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Undo a recovery that was begun and not verified: put the backup back, and the old voters.

Only as long as the controller has not led: what it has written since is in no backup. On the host of the survivor:

1. Take the lock of its log directory, and compare the backup with the plan.
2. Mark the journal: from here on, a killed run is undone by the next one, and not continued.
3. Replace each file of the metadata directory that differs from the backup, and remove those that are not in it. Not
   if the controller was started before its voters were changed: the backup lacks what it has read since.
4. Put the old voters back into the properties files.
5. Compare, and end the journal. So it is the last host to be restored.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from .._disk.log_dir import exclusive_lock
from .apply import ApplyError, FileChange, own_pending, read_begun, replace_voters, voters_changes
from .backup import different_files, put_back
from .continued import BegunRecovery
from .copy import LogCopy
from .journal import NAME, PendingRecovery, RecoveryStep, remove_pending, write_pending
from .plan import QuorumPlan
from .scan import read_copy


def pending_restoration(plan: QuorumPlan, host: str) -> list[FileChange]:
    """Return what is to be put back on a host. Writes nothing. Raises ApplyError or NodeFileError."""
    changes = [FileChange(each.path, each.before, each.after) for each in voters_changes(_reverse(plan), host)]
    pending = own_pending(plan) if host == plan.host else None
    if pending is None:
        return changes
    if _check(plan, pending, is_ours=False).ran_with_old_voters:
        return [*changes, FileChange(str(Path(plan.log_dir, NAME)), pending.step, "")]
    files = [
        FileChange(str(Path(plan.log_dir, name)), "as the recovery left it", f"as in {pending.backup}")
        for name in different_files(plan.log_dir, pending.backup)
    ]
    return [*changes, *files, FileChange(str(Path(plan.log_dir, NAME)), pending.step, "")]


def restore(plan: QuorumPlan, host: str) -> str:
    """Undo the plan on a host, and return the path of the backup. Raises ApplyError, BackupError and LogDirError."""
    changes = voters_changes(_reverse(plan), host)
    if host != plan.host:
        for each in changes:
            replace_voters(each)
        return ""
    with exclusive_lock(plan.log_dir):
        pending = own_pending(plan)
        if pending is None:
            return ""
        if not _check(plan, pending, is_ours=True).ran_with_old_voters:
            write_pending(plan.log_dir, pending.at(RecoveryStep.RESTORING))
            put_back(plan.log_dir, pending.backup)
        for each in changes:
            replace_voters(each)
        remove_pending(plan.log_dir)
    return pending.backup


def _reverse(plan: QuorumPlan) -> QuorumPlan:
    reverse = tuple(replace(each, before=each.after, after=each.before) for each in plan.voters_changes)
    return replace(plan, voters_changes=reverse)


def _check(plan: QuorumPlan, pending: PendingRecovery, *, is_ours: bool) -> BegunRecovery:
    """Require that the backup is what the plan was made for, and that the controller has not led since."""
    backup = read_copy(plan.host, pending.backup, None, is_ours=True).copy
    if _identity(backup) != (plan.checksum, plan.end_offset, plan.node_id, plan.cluster_id):
        raise ApplyError(
            f"the backup {pending.backup} is not whole: {backup.reason or 'its log is not that of the plan'}. Nothing "
            "was restored. Run again without quorum_recovery_restore_backup: this continues the recovery"
        )
    begun = read_begun(plan, pending, is_ours=is_ours)
    if begun.copy.is_running:
        raise ApplyError(f"controller {plan.node_id} runs on {plan.host}. Nothing was restored")
    if begun.has_led:
        raise ApplyError(
            f"controller {plan.node_id} was started after the change, and has written up to offset "
            f"{begun.copy.log_end_offset}, after {plan.changed_end_offset}. The backup has none of this, and brokers "
            "may have it. Nothing was restored. Run again without quorum_recovery_restore_backup: this continues the "
            "recovery"
        )
    return begun


def _identity(copy: LogCopy) -> tuple[str | None, int | None, int | None, str | None]:
    return copy.checksum, copy.log_end_offset, copy.node_id, copy.cluster_id
