# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Carry out a plan on one host. The controller there is stopped, and cannot start meanwhile.

On the host of the survivor:

1. Take the lock of its log directory, which a node takes when it starts.
2. Compare the log with the plan. A run that continues a killed run skips this, and steps 3 and 4.
3. Copy the metadata directory, and compare the copy.
4. Write the journal: from here on, a killed run is continued.
5. Cut off a torn tail, and append the batch with the new voters, if they are in the log (KIP-853). It begins a new
   epoch: a broker that is ahead would take a batch of the same epoch and offset for its own. Kafka reads epochs from
   leader-epoch-checkpoint, so that file gets it, too. Remove the vote from quorum-state: Kafka 3.9 may not start with
   it. Remove snapshots with which the controller would end itself.
6. Read the log again: it must be the planned one, with the planned voters.
7. Mark the journal as changed.

On every host whose properties name static voters: copy the file, then replace it as a whole. So a killed run leaves
either the old or the new file, and the next run continues.
"""

from __future__ import annotations

import io
import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .._disk.log_dir import exclusive_lock
from .._documents.files import errors_name, sync_to_disk, why_no_directory
from .._kafka.voters_record import encode_voters_batch
from .._model.run import KafkaOpsError
from .backup import BackupError, back_up, copy_file
from .continued import BegunRecovery
from .copy import CopyState
from .journal import NAME, PendingRecovery, RecoveryStep, read_pending, replace_file, write_pending
from .node import EPOCHS, METADATA_DIR, QUORUM_STATE, VOTERS, parse_voters, read_properties
from .plan import QuorumPlan, VotersChange, format_voters
from .scan import CopyReading, read_copy

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import javaproperties

_NO_DIRECTORY = "A" * 22
_NOBODY = -1
_VOTERS_KEY = re.compile(rf"\s*{re.escape(VOTERS)}(?:\s*[=:]\s*|[ \t]+)")
"""The property's name and separator, as they are mostly written: a name may have escapes, too."""


class ApplyError(KafkaOpsError):
    """The plan cannot be carried out on this host. The message says what was changed."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """What one host's part of a plan changes: of a file, what it says before and after."""

    path: str
    before: str
    after: str


def pending_changes(plan: QuorumPlan, host: str) -> list[FileChange]:
    """Return what is still to be changed on a host. Writes nothing. Raises ApplyError or NodeFileError."""
    changes = []
    if host == plan.host:
        pending = _pending_to_continue(plan)
        if pending is None:
            _check_copy(plan, is_ours=False)
        if pending is None or pending.step is RecoveryStep.CHANGING:
            changes += _log_changes(plan)
        if pending is not None and pending.step is RecoveryStep.CHANGED:
            return []
        if pending is not None:
            changes.append(FileChange(str(Path(plan.log_dir, NAME)), pending.step, RecoveryStep.CHANGED))
    return [*changes, *(FileChange(each.path, each.before, each.after) for each in voters_changes(plan, host))]


def apply(plan: QuorumPlan, host: str, backup_dir: str | None) -> str:
    """Carry out the plan on a host, and return the path of the backup. Raises ApplyError and others; see above."""
    if host != plan.host:
        changes = voters_changes(plan, host)
        return _apply_properties(changes, plan, backup_dir)
    with exclusive_lock(plan.log_dir):
        pending = _pending_to_continue(plan)
        if pending is None:
            _check_copy(plan, is_ours=True)
            _log_changes(plan)  # refuses damaged files before anything is changed
            voters_changes(plan, host)  # and others' changes
            state = Path(plan.log_dir, METADATA_DIR, QUORUM_STATE)
            properties = [each.path for each in plan.voters_changes if each.host == host]
            target = str(_backup_place(plan, backup_dir, Path(plan.log_dir)))
            pending = PendingRecovery(
                step=RecoveryStep.CHANGING,
                backup=back_up(plan.log_dir, properties, target),
                segment_bytes=os.stat(plan.segment or "").st_size,
                quorum_state=state.read_text("utf-8") if state.exists() else "",
                plan=plan,
            )
            write_pending(plan.log_dir, pending)
        if pending.step is RecoveryStep.CHANGING:
            if not _has_led(plan, pending):
                if plan.is_dynamic:
                    _append_voters(plan)
                for each in _text_changes(plan):
                    replace_file(each.path, each.after.encode())
                for path in plan.snapshots_to_remove:
                    Path(path).unlink(missing_ok=True)
                    sync_to_disk(os.path.dirname(path))
            _check_changed(plan)
            for change in voters_changes(plan, host):
                replace_voters(change)
            write_pending(plan.log_dir, pending.at(RecoveryStep.CHANGED))
    return pending.backup


def planned_batch(plan: QuorumPlan) -> bytes:
    """Return the batch that a plan appends. Empty if the voters are static."""
    if plan.voter is None:
        return b""
    return encode_voters_batch([plan.voter], offset=plan.end_offset, epoch=plan.new_epoch, time_ms=plan.time_ms)


def own_pending(plan: QuorumPlan) -> PendingRecovery | None:
    """Return the journal of this plan. None if there is none. Raises ApplyError if it is that of another plan."""
    pending = read_pending(plan.log_dir)
    if pending is not None and pending.plan.digest == plan.replaces:
        return None
    if pending is not None and pending.plan.digest != plan.digest:
        raise ApplyError(
            f"another recovery was begun on {plan.host}, with the plan {pending.plan.digest}: continue that one. Its "
            f"backup is {pending.backup}"
        )
    return pending


def _pending_to_continue(plan: QuorumPlan) -> PendingRecovery | None:
    pending = own_pending(plan)
    if pending is not None and pending.step is RecoveryStep.RESTORING:
        raise ApplyError(
            f"on {plan.host}, a run with quorum_recovery_restore_backup was killed: run with it again, until "
            f"the backup {pending.backup} is restored"
        )
    return pending


def _check_copy(plan: QuorumPlan, *, is_ours: bool) -> None:
    """Compare the log on the disk with the plan."""
    found = read_copy(plan.host, plan.log_dir, None, is_ours=is_ours).copy
    if found.is_running:
        raise ApplyError(f"controller {plan.node_id} runs on {plan.host} ({plan.log_dir} is locked). Stop it first")
    planned = (plan.cluster_id, plan.directory_id, plan.node_id, plan.checksum, plan.segment, plan.segment_bytes)
    there = (found.cluster_id, found.directory_id, found.node_id, found.checksum, found.segment, found.segment_bytes)
    if planned != there or found.torn_bytes != plan.torn_bytes:
        raise ApplyError(
            f"{plan.log_dir} is not what the plan was made for: it ends at offset {found.log_end_offset} in epoch "
            f"{found.last_epoch}, and the plan says {plan.end_offset} in epoch {plan.epoch}. {found.reason or ''}"
            "Nothing was changed. Make a new plan"
        )


def _log_changes(plan: QuorumPlan) -> list[FileChange]:
    changes = []
    if plan.voter is not None:
        voters = ", ".join(str(each.voter_id) for each in plan.old_voters)
        before = f"{plan.segment_bytes + plan.torn_bytes} bytes, voters {voters}"
        size = plan.segment_bytes + len(planned_batch(plan))
        record = f"a VotersRecord at offset {plan.end_offset} in epoch {plan.new_epoch}"
        changes.append(FileChange(plan.segment or "", before, f"{size} bytes, voter {plan.node_id} by {record}"))
    removed = [each for each in plan.snapshots_to_remove if Path(each).exists()]
    return [*changes, *_text_changes(plan), *(FileChange(each, "a snapshot", "") for each in removed)]


def _text_changes(plan: QuorumPlan) -> list[FileChange]:
    """Return what is to be changed in the files that Kafka keeps beside the log. Raises ApplyError."""
    renewed = {EPOCHS: _new_epochs} if plan.voter is not None else {}
    changes = []
    for name, renew in (renewed | {QUORUM_STATE: _new_vote}).items():
        path = Path(plan.log_dir, METADATA_DIR, name)
        if path.exists():
            before = path.read_text("utf-8")
            changes.append(FileChange(str(path), before, renew(before, plan)))
    return [each for each in changes if each.before != each.after]


def _append_voters(plan: QuorumPlan) -> None:
    """Make the segment end with the planned batch, whatever an earlier attempt has left after the planned end."""
    path = plan.segment or ""
    with errors_name(path), open(path, "r+b") as file:
        file.truncate(plan.segment_bytes)
        file.seek(plan.segment_bytes)
        file.write(planned_batch(plan))
        file.flush()
        os.fsync(file.fileno())


def _has_led(plan: QuorumPlan, pending: PendingRecovery) -> bool:
    """Return whether somebody has started the controller after a killed run, with the new voters. Raises ApplyError."""
    begun = read_begun(plan, pending, is_ours=True)
    if begun.ran_with_old_voters:
        raise ApplyError(
            f"controller {plan.node_id} was started with its old voters after the killed run. Nothing was changed. End "
            "the recovery with quorum_recovery_restore_backup, which keeps the log as it is now"
        )
    return begun.has_led


def read_begun(plan: QuorumPlan, pending: PendingRecovery, *, is_ours: bool) -> BegunRecovery:
    """Read what is on the disk of a recovery that was begun. Raises NodeFileError."""
    return BegunRecovery(plan, pending.step, read_survivor(plan, is_ours=is_ours).copy)


def read_survivor(plan: QuorumPlan, *, is_ours: bool = False, mark: int | None = None) -> CopyReading:
    """Read the survivor's log and, if its properties name static voters, these. Raises NodeFileError."""
    properties = next((read_properties(each.path) for each in plan.voters_changes if each.host == plan.host), None)
    return read_copy(plan.host, plan.log_dir, properties, is_ours=is_ours, mark=mark)


def _new_epochs(text: str, plan: QuorumPlan) -> str:
    """Return leader-epoch-checkpoint with the epoch of the planned batch: it has a version, the number of epochs, and
    each epoch with its start offset.

    Raises ApplyError.
    """
    try:
        _version, _number, *lines = text.split("\n")
        kept = [each for each in lines if each and int(each.split()[1]) < plan.end_offset]
    except (ValueError, IndexError):
        path = Path(plan.log_dir, METADATA_DIR, EPOCHS)
        raise ApplyError(f"{path} is damaged, and Kafka cannot start with it. Nothing was changed") from None
    epochs = [*kept, f"{plan.new_epoch} {plan.end_offset}"]
    return "\n".join(["0", str(len(epochs)), *epochs, ""])


def _new_vote(text: str, plan: QuorumPlan) -> str:
    """Return quorum-state without a vote, and with no epoch below another node's.

    A node refuses a leader whose epoch is lower than one that it has seen. A survivor that ran alone has voted for
    itself: with that vote, a controller of 3.9.2 had ended after it was started as the only voter of a static quorum
    (seen once, the cause was not found). Without it, it leads (tried on 3.9.2).
    """
    if not text:
        return text
    state = json.loads(text)
    epoch = plan.new_epoch if plan.voter else plan.highest_epoch
    is_behind = state["leaderEpoch"] < epoch
    if not is_behind and state["votedId"] == _NOBODY:
        return text
    if is_behind:
        state |= {"leaderEpoch": epoch, "leaderId": _NOBODY}
    state["votedId"] = _NOBODY
    if "votedDirectoryId" in state:
        state["votedDirectoryId"] = _NO_DIRECTORY
    return json.dumps(state, separators=(",", ":"))


def _check_changed(plan: QuorumPlan) -> None:
    """Read the log back: up to the planned end it is the same as before, and its voters are the planned ones."""
    found = read_copy(plan.host, plan.log_dir, None, is_ours=True, mark=plan.end_offset)
    wanted = (plan.voter,) if plan.voter else found.copy.voters
    if (
        found.copy.state is not CopyState.WHOLE
        or found.copy.voters != wanted
        or found.checksum_at_mark != plan.checksum
    ):
        raise ApplyError(
            f"{plan.segment} does not read back as it was written: {found.copy.reason or 'its content differs'}. "
            f"Run again with quorum_recovery_restore_backup. {Path(plan.log_dir, NAME)} names the backup"
        )


def voters_changes(plan: QuorumPlan, host: str) -> list[VotersChange]:
    """Return the properties files of a host that do not have the new voters yet. Raises ApplyError or NodeFileError.

    A file with further voters beside the new ones has them already: controllers were added since.
    """
    left = []
    for each in plan.voters_changes:
        if each.host != host:
            continue
        voters = read_properties(each.path).static_voters
        there = format_voters(voters)
        if there != each.before and {*parse_voters(each.after, each.path)} <= {*voters}:
            continue
        if there != each.before:
            raise ApplyError(
                f"{each.path}: {VOTERS} is {there!r}, and the plan was made for {each.before!r}. Make a new plan"
            )
        left.append(each)
    return left


def _apply_properties(changes: list[VotersChange], plan: QuorumPlan, backup_dir: str | None) -> str:
    """Replace the voters in the files of a host that is not the survivor's."""
    backup = ""
    for each in changes:
        place = _backup_place(plan, backup_dir, Path(each.path))
        # The files of several hosts can have one name, and one directory, for example of NFS.
        target = place.with_name(f"{place.name}-{each.host}")
        target.parent.mkdir(parents=True, exist_ok=True)
        copy_file(each.path, target)
        sync_to_disk(target.parent)
        replace_voters(each)
        backup = str(target)
    return backup


def replace_voters(change: VotersChange) -> None:
    """Replace the property's value, which may be continued on several lines. Every other byte of the file stays.

    Raises ApplyError or OSError.
    """
    parts = [*javaproperties.parse(io.BytesIO(Path(change.path).read_bytes()))]
    # Java takes the last of several.
    last = max(number for number, each in enumerate(parts) if getattr(each, "key", None) == VOTERS)
    sources = [each.source for each in parts]
    key = _VOTERS_KEY.match(sources[last])
    line_end = sources[last][len(sources[last].rstrip("\r\n")) :]
    sources[last] = f"{key[0] if key else f'{VOTERS}='}{change.after}{line_end}"
    replace_file(change.path, "".join(sources).encode("iso-8859-1"))
    after = read_properties(change.path)
    if list(after.static_voters) != parse_voters(change.after, change.path):
        raise ApplyError(f"{change.path} does not read back as it was written")


def _backup_place(plan: QuorumPlan, backup_dir: str | None, original: Path) -> Path:
    """Return where the backup of a plan is: always the same place for the same plan, so that a rerun finds it.

    Raises BackupError.
    """
    name = f"{original.name}.quorum-recovery-{plan.digest.rpartition(':')[2][:12]}"
    place = Path(backup_dir, name) if backup_dir else original.with_name(name)
    in_log_dir = why_no_directory(place.parent)
    if in_log_dir:
        raise BackupError(f"quorum_recovery_backup_dir: {in_log_dir}")
    return place
