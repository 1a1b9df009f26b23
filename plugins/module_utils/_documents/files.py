# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read files safely, write files without replacing others, and format JSON as text. Standard library only."""

from __future__ import annotations

import grp
import hashlib
import json
import os
import pwd
import secrets
import shlex
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Any

from .errors import DocumentError, Problem

MIB = 1024 * 1024
_TEMPORARY_FILE_SYSTEMS = frozenset({"overlay", "tmpfs"})
_MOUNT_POINT = 4
"""The field of a line of /proc/self/mountinfo (proc(5))."""

_Format = Callable[[Any, str], str]
"""Makes the text of a value. The second argument is the indent of its line."""

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


def read_file(path: str, max_bytes: int, *, must_be_protected: bool = False) -> bytes:
    """Read a regular file, or a symbolic link to one. Never blocks, and never reads more than ``max_bytes``.

    ``must_be_protected`` is for files that determine what is done to a cluster: only their owner may write them.

    Raises DocumentError if the file does not exist, may not be read, is not a regular file, is too large, or is not
    protected.
    """
    try:
        # Before opening: opening a device can have effects (it starts a watchdog).
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            found = _KINDS.get(stat.S_IFMT(status.st_mode), "of an unknown kind")
            raise DocumentError(path, [Problem("", f"it is {found}, not a file", "Give the path of a regular file")])
        if status.st_size > max_bytes:
            raise DocumentError(path, [_too_large(max_bytes)])
        # O_NONBLOCK: another process may have put a FIFO there since. One byte more: the file may have grown since.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if must_be_protected:
                _refuse_writable_by_others(path, os.fstat(file.fileno()))
            data = file.read(max_bytes + 1) or b""
    except (OSError, ValueError) as error:
        raise DocumentError(path, [_unreadable(error)]) from error
    if len(data) > max_bytes:
        raise DocumentError(path, [_too_large(max_bytes)])
    return data


def _refuse_writable_by_others(path: str, status: os.stat_result) -> None:
    who = [
        name
        for name, bit in (("its group", stat.S_IWGRP), ("everybody", stat.S_IWOTH))
        if status.st_mode & bit and not (bit == stat.S_IWGRP and _is_private_group(status))
    ]
    if who:
        message = f"it may be written by {' and '.join(who)} (mode {stat.S_IMODE(status.st_mode):04o})"
        remedy = f"Check its content, then remove that permission: chmod go-w {shlex.quote(path)}"
        raise DocumentError(path, [Problem("", message, remedy)])


def _is_private_group(status: os.stat_result) -> bool:
    """Return whether the file's group has no member besides its owner. With such groups a umask of 002 is common."""
    try:
        owner, group = pwd.getpwuid(status.st_uid), grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    return group.gr_gid == owner.pw_gid and group.gr_name == owner.pw_name and set(group.gr_mem) <= {owner.pw_name}


def _too_large(max_bytes: int) -> Problem:
    message = f"it is larger than {max_bytes:,} bytes, the most that is read"
    return Problem("", message, "Check that this is the right file, or split it")


def _unreadable(error: OSError | ValueError) -> Problem:
    match error:
        case FileNotFoundError():
            return Problem("", "it does not exist", "Check the path, and on which host the task runs")
        case PermissionError():
            return Problem(
                "", f"it may not be read by uid {os.geteuid()}", "Give that user read access, or use another one"
            )
        case OSError():
            return Problem("", f"it could not be read: {error.strerror}", "Check the path and the file system")
        case _:
            return Problem("", f"it is not a path: {error}", "Check the path")


def refuse_existing(path: str) -> None:
    """Check that a file can be created at ``path``, before the work whose result it will contain.

    Raises DocumentError if the name already exists (also as a dangling link), or if its directory does not exist or may
    not be written to.
    """
    try:
        os.lstat(path)
    except FileNotFoundError:
        _require_directory(path)
    except (OSError, ValueError) as error:
        raise DocumentError(path, [_unwritable(error)]) from error
    else:
        raise DocumentError(path, [_EXISTS])


_OWN_STATE = ("kafkaops-recovery",)
_OWN_REPORTS = (*_OWN_STATE, "reports")
"""The directory below $XDG_STATE_HOME where roles put reports that nobody gave a path. It is created if necessary."""
_EXISTS = Problem("", "it exists already, and is never overwritten", "Move it away, or give another name")


def _require_directory(path: str) -> None:
    """Create the directory if it is the roles' own. Raises DocumentError if no file can be created in it."""
    directory = os.path.dirname(path) or "."
    if Path(directory).parts[-2:] == _OWN_REPORTS:
        with suppress(OSError):
            os.makedirs(directory, mode=0o700, exist_ok=True)
    if not os.path.isdir(directory):
        raise DocumentError(
            path, [Problem("", f"there is no directory {directory}", "Create the directory, or correct the path")]
        )
    if not os.access(directory, os.W_OK | os.X_OK, effective_ids=True):
        message = f"it cannot be created: uid {os.geteuid()} may not write to {directory}"
        raise DocumentError(path, [Problem("", message, "Give that user write access, or use another directory")])


def write_new_file(path: str, data: bytes | Iterable[bytes]) -> None:
    """Write a new file with mode 0600. It is complete or does not exist, also after a power loss.

    ``data`` is its content, at once or in pieces.

    Raises DocumentError if the name already exists, or if the file cannot be written (for example, the disk is full).
    """
    try:
        directory = os.path.dirname(path) or "."
        # mkstemp uses O_EXCL and mode 0600.
        descriptor, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)[:100]}.", dir=directory)
        try:
            with open(descriptor, "wb") as file:
                file.writelines([data] if isinstance(data, bytes) else data)
                file.flush()
                os.fsync(descriptor)
            # Unlike rename, link fails if the name is taken.
            os.link(temporary, path)
        finally:
            os.unlink(temporary)
        sync_to_disk(directory)
    except FileExistsError as error:
        raise DocumentError(path, [_EXISTS]) from error
    except (OSError, ValueError) as error:
        raise DocumentError(path, [_unwritable(error)]) from error


def _unwritable(error: OSError | ValueError) -> Problem:
    found = error.strerror if isinstance(error, OSError) else str(error)
    return Problem("", f"it cannot be written: {found}", "Check the path, its directory and the space on the disk")


def sync_to_disk(path: str | os.PathLike[str]) -> None:
    """Wait until the content of a file, or the names in a directory, are on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with errors_name(path):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def errors_name(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let an error of a write name the file, as that of ``open`` does: a full disk is found by the write."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, error.filename or os.fspath(path)) from None


def format_document(document: dict[str, Any]) -> bytes:
    """Return the document as UTF-8 text, always the same bytes. Each key and each object in a list has its own line.

    For documents that people compare and edit.
    """
    return b"".join(format_pieces(document))


def format_pieces(document: dict[str, Any]) -> Iterator[bytes]:
    """Yield what ``format_document`` returns in pieces: a plan for 100,000 partitions takes 400 MB."""
    return (line.encode() for line in _lines(document, _format_value))


def format_report(report: dict[str, Any]) -> Iterator[bytes]:
    """Yield the pieces of a report as UTF-8 text. Each of its keys and each object in its own lists has a line.

    So ``grep`` shows a partition as a whole, and 100,000 partitions, which are 300 MB, take a third of the time.
    """
    return (line.encode() for line in _lines(report, lambda value, _indent: _text(value)))


def _lines(document: dict[str, Any], text: _Format) -> Iterator[str]:
    yield "{"
    for index, (key, value) in enumerate(document.items()):
        yield f"{',' if index else ''}\n  {_text(key)}: "
        yield from _pieces(value, "  ", text)
    yield "\n}\n"


def _pieces(value: Any, indent: str, text: _Format) -> Iterator[str]:
    """Yield each object of a list separately, and any other value as a whole."""
    if not _is_list_of_objects(value):
        yield text(value, indent)
        return
    deeper = f"{indent}  "
    for index, item in enumerate(value):
        yield f"{',' if index else '['}\n{deeper}{text(item, deeper)}"
    yield f"\n{indent}]"


def _format_value(value: Any, indent: str) -> str:
    """Format a value on one line, except for lists of objects in it."""
    if not _has_list_of_objects(value):
        return _text(value)
    parts: list[str] = []
    for has_lines, items in groupby(value.items(), key=lambda item: _has_lines(item[1])):
        # All keys between two lists are encoded at once.
        if has_lines:
            parts += [f"{_text(key)}: {''.join(_pieces(each, indent, _format_value))}" for key, each in items]
        else:
            parts.append(_text(dict(items))[1:-1])
    return f"{{{', '.join(parts)}}}"


def _has_lines(value: Any) -> bool:
    return _is_list_of_objects(value) or _has_list_of_objects(value)


def _has_list_of_objects(value: Any) -> bool:
    return isinstance(value, dict) and any(map(_is_list_of_objects, value.values()))


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


_text = json.JSONEncoder(ensure_ascii=False).encode
_canonical_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


def digest(document: dict[str, Any]) -> str:
    """Return ``sha256:<hex>`` over canonical JSON (sorted keys, no white space, UTF-8) without the key ``digest``."""
    found = hashlib.sha256()
    for piece in canonical_pieces({key: value for key, value in document.items() if key != "digest"}):
        # A lone surrogate must not raise here: another check refuses it and names its place.
        found.update(piece.encode("utf-8", "surrogatepass"))
    return f"sha256:{found.hexdigest()}"


def canonical_pieces(document: dict[str, Any]) -> Iterator[str]:
    """Yield canonical JSON in pieces: each item of the document's own lists is one."""
    yield "{"
    for index, key in enumerate(sorted(document)):
        yield f"{',' if index else ''}{_canonical_text(key)}:"
        if isinstance(value := document[key], list):
            yield "["
            yield from (f"{',' if number else ''}{_canonical_text(item)}" for number, item in enumerate(value))
            yield "]"
        else:
            yield _canonical_text(value)
    yield "}"


def state_directory() -> str:
    """Return this user's directory for reports and evidence: below ``XDG_STATE_HOME``, or ``~/.local/state``.

    If this user cannot create it, as in a container that runs with any user id, it is in the directory for temporary
    files, with a name that nobody can guess. Creates nothing.
    """
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    if not _may_be_created(Path(home)):
        home = os.path.join(tempfile.gettempdir(), f"kafkaops-{secrets.token_hex(8)}")
    return os.path.join(home, *_OWN_STATE)


def nearest_existing(path: Path) -> Path:
    """Return the path, or the nearest directory above it that exists."""
    return next(each for each in (path, *path.absolute().parents) if each.exists())


def _may_be_created(directory: Path) -> bool:
    """Return whether this user may create files in an absolute path. Without a home directory, "~" stays "~"."""
    existing = nearest_existing(directory)
    return directory.is_absolute() and existing.is_dir() and os.access(existing, os.W_OK | os.X_OK, effective_ids=True)


def why_temporary(directory: Path) -> str:
    """Return why files in this directory do not survive a restart of the container or host; empty if they do."""
    kind = _file_system_of(directory)
    return f"{directory} is on a file system of type {kind}" if kind in _TEMPORARY_FILE_SYSTEMS else ""


def why_no_directory(path: str | Path) -> str:
    """Return why no directory may be created in the directory ``path``; empty if one may be.

    A broker does not start if it finds a directory in one of its log directories that is no replica (``LogManager``).
    """
    place = Path(os.path.realpath(path))
    found = next((each for each in (place, *place.parents) if (each / "meta.properties").is_file()), None)
    if found is None:
        return ""
    return (
        f"{found} is a log directory of Kafka (it has meta.properties), and a broker does not start if it finds other "
        f"directories in it: name another place than {path}"
    )


def _file_system_of(directory: Path) -> str:
    """Return the type of the file system of a path; empty if it cannot be read."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
        path = Path(os.path.expanduser(directory)).resolve()
    except OSError:
        return ""
    found, kind = Path("/"), ""
    for line in lines:
        mount, _separator, rest = line.partition(" - ")
        point = Path(mount.split()[_MOUNT_POINT])
        if path.is_relative_to(point) and len(point.parts) >= len(found.parts):
            found, kind = point, rest.split()[0]
    return kind
