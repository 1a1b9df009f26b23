# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read a broker's log directory: which broker it belongs to, that no broker uses it, and which segments it has."""

from __future__ import annotations

import base64
import fcntl
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from .._model.fields import INT32_MAX
from .._model.partition import METADATA_TOPIC, OfPartition
from .._model.run import KafkaOpsError
from .segment import Segment
from .segment_files import find_segments

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import javaproperties

_META = "meta.properties"
_LOCK = ".lock"
_PARTITION_METADATA = "partition.metadata"
_LOG_START_OFFSETS = "log-start-offset-checkpoint"
_PARTITION = re.compile(
    r"(?P<topic>[A-Za-z0-9._-]{1,249}?)-(?P<number>0|[1-9][0-9]{0,9})(?:\.[0-9a-f]{32}-(?P<kind>future|stray|delete))?"
)
"""Name of a replica's directory, perhaps with the suffix of a rename (Kafka's ``UnifiedLog.logDirNameWithSuffix``)."""
_LONGEST_NAME = 255
"""Characters. Kafka cuts the topic until a name with a suffix is that long (``logDirNameWithSuffixCappedLength``)."""
_UUID_CHARACTERS = 22
"""Base64 without the padding (``Uuid.toString``)."""
_REPLACE_META = (
    "If it was lost or damaged, all the rest can be read: make an empty directory, link everything in this one to it "
    "(ln -s), write a meta.properties with version=1, cluster.id and node.id there, and give that directory. Other "
    "directories can be read without this one"
)


class LogDirError(KafkaOpsError):
    """A directory must not or cannot be read. The message names it and says what to do."""


class NoIdentityError(LogDirError):
    """A directory does not say which cluster and broker it belongs to."""


class DirKind(StrEnum):
    """Which log of a replica a directory holds: the log in use, or one that Kafka has set aside."""

    CURRENT = "current"
    FUTURE = "future"
    """An unfinished copy of the current log: the replica was being moved to this log directory."""
    STRAY = "stray"
    """When the broker started, it was not in the replica list any more."""
    DELETE = "delete"
    """The replica was moved away or deleted, and its files were not removed yet."""


@dataclass(frozen=True, slots=True)
class PartitionDir(OfPartition):
    """One replica's directory, with its segments in order of base offset."""

    topic: str
    partition: int
    topic_id: str | None
    """None if ``partition.metadata`` is missing or damaged."""
    segments: tuple[Segment, ...]
    path: str
    kind: DirKind = DirKind.CURRENT
    error: str = ""
    """Why the directory could not be read completely; empty if it was. The names of some segments may be missing."""
    is_cut: bool = False
    """Whether ``topic`` may be only the beginning of the topic's name, because the directory's name is full."""
    log_start_offset: int = 0
    """Earlier records were deleted, though segments may still have them. 0 if the broker did not write it down."""


@dataclass(frozen=True, slots=True)
class LogDir:
    """One of a broker's ``log.dirs``."""

    path: str
    cluster_id: str
    node_id: int
    directory_id: str | None
    """None if the broker is older than Kafka 3.7."""
    log_start_offsets: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Those that the broker wrote down, by name of the replica's directory."""
    note: str = ""
    """Why they could not be read; empty if they could, or if there are none."""


class LockedLogDirs:
    """The log directories of one broker, locked so that no broker uses them during the ``with`` block.

    A broker takes an exclusive lock on ``.lock`` (``FileChannel.tryLock``) and does not start without it. This class
    takes a shared lock on a descriptor opened for reading. It fails while a broker runs. A broker that is started
    during the block stops with "Failed to acquire lock" before it truncates anything. Nothing is written.

    Raises LogDirError, which names all reasons: no such directory, no ``meta.properties``, a running broker,
    directories of several brokers.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._locks = ExitStack()
        self.dirs: tuple[LogDir, ...] = ()

    def __enter__(self) -> LockedLogDirs:
        try:
            self.dirs = self._lock_all()
            _check_same_broker(self.dirs)
        except BaseException:
            self._locks.close()
            raise
        return self

    def __exit__(self, *_exception: object) -> None:
        self._locks.close()

    @property
    def node_id(self) -> int:
        return self.dirs[0].node_id

    @property
    def cluster_id(self) -> str:
        return self.dirs[0].cluster_id

    def _lock_all(self) -> tuple[LogDir, ...]:
        held, refusals = [], []
        for path in self._paths:
            try:
                held.append(self._lock(path))
            except LogDirError as error:
                refusals.append(str(error))
        if refusals:
            raise LogDirError("\n".join(refusals))
        return tuple(held)

    def _lock(self, path: str) -> LogDir:
        try:
            found = read_log_dir(path)
        except NoIdentityError as error:
            raise LogDirError(f"{error}. {_REPLACE_META}") from None
        try:
            file = self._locks.enter_context(open(Path(path, _LOCK), "rb"))  # noqa: SIM115
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            # No broker runs, since it would have created the file: this is a copy, or no broker has used it yet.
            return found
        except BlockingIOError:
            raise LogDirError(
                f"{path} is in use: a broker runs on it (it holds {path}/{_LOCK}). Stop broker {found.node_id}, or "
                "salvage from a copy that was made while it was stopped"
            ) from None
        except OSError as error:
            raise LogDirError(f"{path}/{_LOCK} could not be locked for reading: {error.strerror}") from None
        return found


def read_log_dir(path: str) -> LogDir:
    """Read which cluster and broker a log directory belongs to. Raises LogDirError."""
    try:
        with Path(path, _META).open("rb") as file:
            properties = {name: value.strip() for name, value in javaproperties.load(file).items()}
        cluster_id, node_id = properties["cluster.id"], int(properties.get("node.id") or properties["broker.id"])
        if not cluster_id or not 0 <= node_id <= INT32_MAX:
            raise ValueError(properties)
    except FileNotFoundError:
        raise NoIdentityError(
            f"{path} is no log directory of a broker: it has no {_META}. Give the directories that the broker's "
            "log.dirs names"
        ) from None
    except PermissionError as error:
        raise LogDirError(
            f"{path}/{_META} could not be read: {error.strerror}. Run as the user that the broker runs as"
        ) from None
    except OSError as error:
        raise NoIdentityError(f"{path}/{_META} could not be read: {error.strerror}") from None
    except (KeyError, ValueError):
        raise NoIdentityError(f"{path}/{_META} does not name the cluster and the broker") from None
    starts, note = _read_log_start_offsets(path)
    return LogDir(path, cluster_id, node_id, properties.get("directory.id"), starts, note)


def is_in_use(path: str) -> bool:
    """Return whether a node runs on a log directory: it holds an exclusive lock on ``.lock``. Raises OSError."""
    try:
        with open(Path(path, _LOCK), "rb") as file:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


@contextmanager
def exclusive_lock(path: str) -> Iterator[None]:
    """Hold the lock that a node takes when it starts, so that none starts meanwhile. Raises LogDirError."""
    is_new = not Path(path, _LOCK).exists()
    try:
        with open(Path(path, _LOCK), "ab") as file:
            if is_new:  # root's file would keep the node from starting
                os.fchmod(file.fileno(), os.stat(path).st_mode & 0o666)
                give_to_owner_of(path, file.fileno())
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
    except BlockingIOError:
        raise LogDirError(f"{path} is in use: a node runs on it. Stop it first") from None


def give_to_owner_of(original: str | Path, file: int | Path) -> None:
    """Give a file, by its path or descriptor, to the user and group that another one belongs to. Raises OSError.

    Nothing happens without the right to do so: only root has it, and only root's files would not be the node's own.
    """
    status = os.stat(original)
    with suppress(PermissionError):
        os.chown(file, status.st_uid, status.st_gid)


def list_partition_dirs(log_dir: LogDir) -> Iterator[PartitionDir]:
    """List the replicas' directories in a log directory, in order of name.

    Includes those that Kafka has set aside, without the controllers' metadata log. One that cannot be read completely
    has an error. Raises LogDirError.
    """
    try:
        entries = sorted(os.scandir(log_dir.path), key=lambda entry: entry.name)
    except OSError as error:
        raise LogDirError(f"{log_dir.path} could not be listed: {error.strerror}") from None
    for entry in entries:
        name = _PARTITION.fullmatch(entry.name)
        # A number that is too large is no partition: Kafka would not start with such a directory.
        is_replica = name is not None and int(name["number"]) <= INT32_MAX and name["topic"] != METADATA_TOPIC
        if name is not None and is_replica and _is_dir(entry):
            kind = DirKind(name["kind"] or DirKind.CURRENT)
            is_cut = kind is not DirKind.CURRENT and len(entry.name) == _LONGEST_NAME
            start = log_dir.log_start_offsets.get(entry.name, 0)  # only directories in use have the name of a partition
            topic_id, (segments, unread) = _read_topic_id(entry.path), find_segments(entry.path)
            yield PartitionDir(
                name["topic"], int(name["number"]), topic_id, segments, entry.path, kind, unread, is_cut, start
            )


def _is_dir(entry: os.DirEntry[str]) -> bool:
    """Return whether this is a directory, or may be one: a link to a disk that is away, what a disk is silent about."""
    try:
        return entry.is_dir() or entry.is_symlink()
    except OSError:
        return True


def list_segments(path: str) -> tuple[Segment, ...]:
    """List the segment files of a log in order of base offset. Raises LogDirError if it cannot be read completely."""
    segments, error = find_segments(path)
    if error:
        raise LogDirError(error)
    return segments


def _check_same_broker(dirs: Sequence[LogDir]) -> None:
    brokers = {(each.cluster_id, each.node_id) for each in dirs}
    if len(brokers) > 1:
        named = ", ".join(f"{each.path} (broker {each.node_id} of cluster {each.cluster_id})" for each in dirs)
        raise LogDirError(
            f"the log directories belong to {len(brokers)} brokers: {named}. Salvage one broker at a time"
        )
    real = [os.path.realpath(each.path) for each in dirs]
    if len(set(real)) < len(real):
        raise LogDirError(f"a log directory is given twice: {', '.join(sorted(real))}")


def _read_topic_id(path: str) -> str | None:
    """Read the topic id, in Kafka's text form, from ``partition.metadata`` (KIP-516). None if there is no valid one.

    An id that is damaged must not be taken for that of another topic, whose records are left alone.
    """
    with suppress(OSError, ValueError):
        for line in Path(path, _PARTITION_METADATA).read_text("utf-8").splitlines():
            name, _colon, value = line.partition(":")
            if name.strip() == "topic_id" and _is_topic_id(value.strip()):
                return value.strip()
    return None


def _is_topic_id(text: str) -> bool:
    """Return whether this is the text of an id that a topic can have: not zero, which is none. Raises ValueError."""
    if not text.isascii() or len(text) != _UUID_CHARACTERS:
        return False
    return any(base64.b64decode(f"{text}==", altchars=b"-_", validate=True))


def _read_log_start_offsets(path: str) -> tuple[dict[str, int], str]:
    """Read the log start offsets that a broker wrote down, by name of directory. Also return why they are unknown.

    It writes them once a minute and when it stops, for logs that start within a segment. A file that cannot be read,
    or has another format than version 0, counts as empty: then too much is saved, and not too little.
    """
    file = Path(path, _LOG_START_OFFSETS)
    try:
        lines = file.read_text("utf-8").splitlines()
        if not lines:  # it was created, and not written yet
            return {}, ""
        version, count, *entries = lines
        rows = [each.split() for each in entries]
        starts = {f"{topic}-{number}": int(offset) for topic, number, offset in rows}
        if int(version) != 0 or int(count) != len(rows) or min(starts.values(), default=0) < 0:
            raise ValueError(lines)
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is damaged"
        return {}, f"{file} could not be read: {why}. Records that were deleted on the broker count as lost, too"
    return starts, ""
