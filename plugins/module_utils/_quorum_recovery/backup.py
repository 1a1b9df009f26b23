# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copy a metadata directory before it is changed, compare the copy with it, and put it back."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from .._disk.log_dir import give_to_owner_of
from .._documents.files import sync_to_disk
from .._model.run import KafkaOpsError
from .node import METADATA_DIR

_UNFINISHED = ".unfinished"
_MODE = 0o700


class BackupError(KafkaOpsError):
    """The backup could not be made, or not be restored. The message says what was changed."""


def back_up(log_dir: str, more: Sequence[str], target: str) -> str:
    """Copy the metadata directory, meta.properties and further files to ``target``, and return it.

    It has another name until each file is on the disk and equals its original. A backup that is there already is
    compared again. Raises BackupError.
    """
    work = Path(f"{target}{_UNFINISHED}")
    originals = dict(_originals(log_dir, more))
    try:
        if not Path(target).exists():
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(mode=_MODE, parents=True)
            for name, original in originals.items():
                copy = work / name
                copy.parent.mkdir(mode=_MODE, parents=True, exist_ok=True)
                copy_file(original, copy)
            _compare(originals, work)
            for directory, _directories, _files in os.walk(work):
                sync_to_disk(directory)
            work.rename(target)
            sync_to_disk(work.parent)
        else:
            _compare(originals, Path(target))
    except OSError as error:
        # It may have filled the disk of the log, with which Kafka could not start.
        shutil.rmtree(work, ignore_errors=True)
        raise BackupError(
            f"the backup {target} could not be written: {error.filename or work}: {error.strerror}. Nothing was "
            "changed. Set quorum_recovery_backup_dir to a directory with enough space"
        ) from None
    return target


def different_files(log_dir: str, backup: str) -> list[str]:
    """Return the files of the metadata directory that are not as in the backup, by their path in the log directory.

    Raises OSError.
    """
    names = {name for place in (log_dir, backup) for name, _path in _originals(place, ())}
    return sorted(name for name in names if _digest(Path(log_dir, name)) != _digest(Path(backup, name)))


def put_back(log_dir: str, backup: str) -> None:
    """Make the metadata directory equal to the backup, file by file, each wholly or not at all. Raises BackupError."""
    try:
        for name in different_files(log_dir, backup):
            target, copy = Path(log_dir, name), Path(backup, name)
            if not copy.exists():
                target.unlink(missing_ok=True)  # Perhaps what a killed run left, which was replaced meanwhile.
                continue
            new = target.with_name(f"{target.name}{_UNFINISHED}")
            copy_file(copy, new)
            new.replace(target)
        sync_to_disk(Path(log_dir, METADATA_DIR))
        left = different_files(log_dir, backup)
    except OSError as error:
        raise BackupError(
            f"the backup {backup} could not be restored: {error.filename or log_dir}: {error.strerror}. Run again when "
            "this is mended"
        ) from None
    if left:
        raise BackupError(f"{log_dir} differs from the backup {backup} in {', '.join(left)}")


def copy_file(original: str | Path, copy: Path) -> None:
    """Copy a file with its owner, mode and times, and wait until the copy is on the disk. Raises OSError."""
    shutil.copy2(original, copy)
    give_to_owner_of(original, copy)
    sync_to_disk(copy)


def _originals(log_dir: str, more: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each file to copy, by its name in the backup."""
    metadata_dir = Path(log_dir, METADATA_DIR)
    for path in [*metadata_dir.rglob("*"), Path(log_dir, "meta.properties")]:
        if path.is_file():
            yield str(path.relative_to(log_dir)), str(path)
    for path in map(Path, more):
        yield path.name, str(path)


def _compare(originals: dict[str, str], copies: Path) -> None:
    different = [name for name, original in originals.items() if _digest(original) != _digest(copies / name)]
    if different:
        raise BackupError(
            f"{copies} differs from the original in {', '.join(different)}. Nothing was changed. Move it away, or set "
            "quorum_recovery_backup_dir"
        )


def _digest(path: str | Path) -> str | None:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None
