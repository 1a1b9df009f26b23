# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write a salvage directory on a local file system.

It has another name (``.unfinished``) until all its files are complete and synced to disk. Then it is renamed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .._documents.files import sync_to_disk, why_no_directory, write_new_file
from .._model.log_contents import Stretches, subtract
from .._model.partition import TopicPartition
from .._spark.options import local_uri
from .manifest import MANIFEST, RECORDS, Manifest, SavedFile, digest, encode_manifest
from .options import SalvageDirectoryError

_SUFFIX = ".unfinished"
CLAIM_FILE = "kafkaops.recovery-salvage"
_DIRECTORY_MODE = 0o700
_FILE_MODE = 0o600


class OtherSalvageError(SalvageDirectoryError):
    """The directory has a finished salvage of other records."""


class UnsyncedSalvageError(SalvageDirectoryError):
    """The salvage is finished, but it is not known whether its directory survives a power loss."""

    def __init__(self, target: Path, manifest: Manifest, reason: str) -> None:
        super().__init__(
            f"{target} has all records, and they were read back, but its disk does not confirm that the directory "
            f"survives a power loss: {reason}. Keep it, and repeat the run: it compares the files and syncs them again"
        )
        self.manifest = manifest


class UnfinishedSalvage:
    """A salvage that is being written. Its files are removed unless ``finish`` was called."""

    def __init__(self, target: Path, path: Path) -> None:
        self.target = target
        self.path = path

    @property
    def records(self) -> Path:
        """Directory of the Parquet files. The writer creates it."""
        return self.path / RECORDS

    @property
    def records_uri(self) -> str:
        return local_uri(self.records)

    def files(self) -> tuple[SavedFile, ...]:
        """Sync the Parquet files to disk, make them readable by this user only, and return their digests.

        Raises OSError.
        """
        found = []
        for path in sorted(self.records.iterdir()):
            if path.suffix != ".parquet":
                # Hadoop's checksums and its _SUCCESS. The manifest has digests of its own.
                path.unlink()
                continue
            path.chmod(_FILE_MODE)
            sync_to_disk(path)
            found.append(digest(path))
        self.records.chmod(_DIRECTORY_MODE)
        sync_to_disk(self.records)
        return tuple(found)

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest and rename the directory to its final name.

        Raises OSError or DocumentError if nothing was saved, and UnsyncedSalvageError if everything was.
        """
        write_new_file(str(self.path / MANIFEST), encode_manifest(manifest))
        sync_to_disk(self.path)
        self.path.rename(self.target)
        try:
            (self.target / CLAIM_FILE).unlink(missing_ok=True)
            sync_to_disk(self.target.parent)
        except OSError as error:
            raise UnsyncedSalvageError(self.target, manifest, str(error.strerror)) from error


def sync_finished(path: str, files: Iterable[SavedFile]) -> None:
    """Sync a finished salvage to disk, because the run that wrote it may have failed right there. Raises OSError."""
    directory = Path(path)
    for each in (*(directory / RECORDS / file.name for file in files), directory / RECORDS, directory):
        sync_to_disk(each)
    (directory / CLAIM_FILE).unlink(missing_ok=True)
    sync_to_disk(directory.parent)


def check_destination(path: str) -> None:
    """Check that a salvage directory can be created at ``path``. Raises SalvageDirectoryError."""
    target = Path(path)
    in_log_dir = why_no_directory(target.parent)
    if in_log_dir:
        raise SalvageDirectoryError(in_log_dir)
    # A link to nothing exists, too: no directory can get its name.
    if os.path.lexists(target) and not (target / MANIFEST).is_file():
        raise SalvageDirectoryError(f"{path} exists and is no finished salvage: name a directory that does not exist")
    if not target.parent.is_dir():
        raise SalvageDirectoryError(f"{path} has no directory {target.parent}: create it, or correct the path")
    if not os.access(target.parent, os.W_OK | os.X_OK, effective_ids=True):
        raise SalvageDirectoryError(f"{path} cannot be created: uid {os.geteuid()} may not write to {target.parent}")
    work = _unfinished(target)
    try:
        is_free = stat.S_ISDIR(work.lstat().st_mode)
    except FileNotFoundError:
        is_free = True
    except OSError as error:  # the name is too long
        raise SalvageDirectoryError(f"{work} cannot be created: {error.strerror}") from None
    if not is_free:
        raise SalvageDirectoryError(f"{work} exists and was not made by a salvage: move it away")


def check_covers(
    manifest: Manifest, place: str, cluster_id: str, wanted: Iterable[tuple[TopicPartition, str | None, Stretches]]
) -> None:
    """Check that a finished salvage has all wanted partitions, with the same topic ids and all wanted offsets.

    Raises OtherSalvageError.
    """
    saved = manifest.by_partition
    for partition, topic_id, ranges in wanted:
        there = saved.get(partition)
        is_same = manifest.cluster_id == cluster_id and there is not None and there.topic_id == topic_id
        if there is None or not is_same or subtract(ranges, there.ranges):
            raise OtherSalvageError(
                f"{place} holds another salvage, which lacks records of {partition}: name a directory that does not "
                "exist"
            )


@contextmanager
def open_unfinished_salvage(path: str) -> Iterator[UnfinishedSalvage]:
    """Create a salvage directory for this run alone. Files that a killed run left are removed first.

    Raises SalvageDirectoryError, also for an OSError within the block, such as a full disk.
    """
    target = Path(path)
    work = _unfinished(target)
    with ExitStack() as cleanup:
        try:
            _claim(work, cleanup)
            started = UnfinishedSalvage(target, work)
            yield started
        except OSError as error:
            raise SalvageDirectoryError(
                f"{error.filename or work} could not be written: {error.strerror}. Nothing was saved"
            ) from error


def _unfinished(target: Path) -> Path:
    return target.with_name(target.name + _SUFFIX)


def _claim(work: Path, cleanup: ExitStack) -> None:
    if work.exists() and not (work / CLAIM_FILE).is_file() and any(work.iterdir()):
        raise SalvageDirectoryError(f"{work} exists and was not made by a salvage: move it away")
    work.mkdir(mode=_DIRECTORY_MODE, exist_ok=True)
    # The file stays open as long as the run, so the lock ends with the process.
    lock = cleanup.enter_context((work / CLAIM_FILE).open("ab"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SalvageDirectoryError(f"{work} is being written by another run: wait for it") from None
    shutil.rmtree(work / RECORDS, ignore_errors=True)
    (work / MANIFEST).unlink(missing_ok=True)
    # After a rename, this finds nothing to remove.
    cleanup.callback(shutil.rmtree, work, ignore_errors=True)
