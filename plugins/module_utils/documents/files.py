# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files that are read with care, and files that never replace another one. Standard library only."""

from __future__ import annotations

import os
import stat
import tempfile

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.fault import DocumentError, Fault

MIB = 1024 * 1024

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


def read_file(path: str, max_bytes: int) -> bytes:
    """The bytes of a regular file, or of a symbolic link to one. Never waits, and never takes more than ``max_bytes``.

    Raises DocumentError when it does not exist, may not be read, is not a file, or is too large.
    """
    try:
        # Before opening: to open a device can already do something (a watchdog starts counting).
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            found = _KINDS.get(stat.S_IFMT(status.st_mode), "of an unknown kind")
            raise DocumentError(path, [Fault("", f"is {found}, not a file", "Give the path of a regular file")])
        if status.st_size > max_bytes:
            raise DocumentError(path, [_too_large(max_bytes)])
        # Not blocking: another process may have put a FIFO there since. One byte more: the file may have grown since.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            data = file.read(max_bytes + 1) or b""
    except (OSError, ValueError) as error:
        raise DocumentError(path, [_unreadable(error)]) from error
    if len(data) > max_bytes:
        raise DocumentError(path, [_too_large(max_bytes)])
    return data


def _too_large(max_bytes: int) -> Fault:
    problem = f"is larger than {max_bytes:,} bytes, the most that is read"
    return Fault("", problem, "Check that this is the right file, or split it")


def _unreadable(error: OSError | ValueError) -> Fault:
    match error:
        case FileNotFoundError():
            return Fault("", "does not exist", "Check the path, and on which host the task runs")
        case PermissionError():
            return Fault("", f"may not be read by uid {os.geteuid()}", "Give that user read access, or use another one")
        case OSError():
            return Fault("", f"cannot be read: {error.strerror}", "Check the path and the file system")
        case _:
            return Fault("", f"is no path: {error}", "Check the path")


def refuse_existing(path: str) -> None:
    """Check that a file can be made at ``path``, before any work is done for it.

    Raises DocumentError when something has that name already (a dangling link too), or when its directory is missing
    or may not be written to.
    """
    try:
        os.lstat(path)
    except FileNotFoundError:
        _refuse_directory(path)
    except (OSError, ValueError) as error:
        raise DocumentError(path, [_unwritable(error)]) from error
    else:
        raise DocumentError(path, [_EXISTS])


_EXISTS = Fault("", "exists already, and is never overwritten", "Move it away, or give another name")


def _refuse_directory(path: str) -> None:
    directory = os.path.dirname(path) or "."
    if not os.path.isdir(directory):
        raise DocumentError(
            path, [Fault("", f"has no directory {directory}", "Make the directory, or correct the path")]
        )
    if not os.access(directory, os.W_OK | os.X_OK, effective_ids=True):
        problem = f"cannot be made: uid {os.geteuid()} may not write to {directory}"
        raise DocumentError(path, [Fault("", problem, "Give that user write access, or use another directory")])


def write_new_file(path: str, data: bytes) -> None:
    """Write a file that did not exist, mode 0600, so that it is whole or not there, and survives a power loss.

    Raises DocumentError when something has that name already, or when it cannot be written (a full disk).
    """
    try:
        directory = os.path.dirname(path) or "."
        # Made with O_EXCL and mode 0600.
        descriptor, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)[:100]}.", dir=directory)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            # Unlike rename, link fails if the name is taken.
            os.link(temporary, path)
        finally:
            os.unlink(temporary)
        _sync_directory(directory)
    except FileExistsError as error:
        raise DocumentError(path, [_EXISTS]) from error
    except (OSError, ValueError) as error:
        raise DocumentError(path, [_unwritable(error)]) from error


def _unwritable(error: OSError | ValueError) -> Fault:
    found = error.strerror if isinstance(error, OSError) else str(error)
    return Fault("", f"cannot be written: {found}", "Check the path, its directory and the space on the disk")


def _sync_directory(directory: str) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
