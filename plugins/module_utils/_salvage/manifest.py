# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a salvage directory holds, and who saved it: the manifest, written last.

A directory without one was not finished. The manifest holds no key, no value and no secret.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from .._documents.files import read_file
from .._model.log_contents import EpochRange, Stretches
from .._model.partition import TopicPartition
from .._model.run import KafkaOpsError
from .saved import SavedRecords

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import jsonschema

MANIFEST = "manifest.json"
RECORDS = "records"
"""Directory of the Parquet files in a salvage directory."""
_FORMAT = 1
_MOST_BYTES = 256 * 1024 * 1024
_PIECE_BYTES = 8 * 1024 * 1024

_COUNT = {"type": "integer", "minimum": 0}
_RANGE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["epoch", "start_offset", "end_offset"],
    "properties": {"epoch": _COUNT, "start_offset": _COUNT, "end_offset": _COUNT},
}
_PARTITION_PROPERTIES: dict[str, Any] = {
    "topic": {"type": "string", "pattern": r"^[A-Za-z0-9._-]{1,249}$"},
    "partition": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
    "topic_id": {"type": ["string", "null"]},
    "ranges": {"type": "array", "items": _RANGE},
    "first_timestamp_ms": {"type": ["integer", "null"]},
    "last_timestamp_ms": {"type": ["integer", "null"]},
}
_PARTITION_PROPERTIES |= {each.name: _COUNT for each in fields(SavedRecords) if each.name not in _PARTITION_PROPERTIES}
_ORIGIN = {
    "type": "object",
    "additionalProperties": False,
    "required": ["broker_id", "directory_ids", "log_dirs"],
    "properties": {
        "broker_id": {"type": "integer"},
        "directory_ids": {"type": "array", "items": {"type": "string"}},
        "log_dirs": {"type": "array", "items": {"type": "string"}},
    },
}
_HELD = {
    "type": "object",
    "additionalProperties": False,
    "required": ["topic", "partition", "ranges"],
    "properties": {name: _PARTITION_PROPERTIES[name] for name in ("topic", "partition", "ranges")},
}
_FILE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "size", "sha256"],
    "properties": {
        "name": {"type": "string", "pattern": r"^[A-Za-z0-9._-]+$"},
        "size": _COUNT,
        "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    },
}
_TEXTS = ("salvage_id", "cluster_id", "taken_at", "taken_on", "taken_by", "collection_version")
_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["format", *_TEXTS, "origins", "held", "partitions", "files"],
    "properties": {
        "format": {"const": _FORMAT},
        **{name: {"type": "string"} for name in _TEXTS},
        "origins": {"type": "array", "items": _ORIGIN, "minItems": 1},
        "held": {"type": "array", "items": _HELD},
        "partitions": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": sorted(_PARTITION_PROPERTIES),
                "properties": _PARTITION_PROPERTIES,
            },
        },
        "files": {"type": "array", "items": _FILE},
    },
}


class ManifestError(KafkaOpsError):
    """A directory that is no finished salvage, or whose files are not those of its manifest."""


@dataclass(frozen=True, slots=True)
class SavedFile:
    """One Parquet file. ``name`` is relative to ``RECORDS``."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class SavedFrom:
    """The broker that records were saved from. Its log directories are empty where it was asked over the network."""

    broker_id: int
    directory_ids: tuple[str, ...] = ()
    log_dirs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HeldRecords:
    """What losers held of one partition and the leader did not, saved or not."""

    topic: str
    partition: int
    ranges: Stretches

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class Manifest:
    """One finished salvage."""

    salvage_id: str
    cluster_id: str
    taken_at: str
    """UTC, ISO 8601, seconds."""
    taken_on: str
    """Name of the host."""
    taken_by: str
    """Name of the user."""
    collection_version: str
    origins: tuple[SavedFrom, ...]
    held: tuple[HeldRecords, ...]
    """In order of topic and number."""
    partitions: tuple[SavedRecords, ...]
    files: tuple[SavedFile, ...]


def to_json(manifest: Manifest) -> bytes:
    """Return the manifest's file."""
    return (json.dumps({"format": _FORMAT, **asdict(manifest)}, indent=2) + "\n").encode()


def read_manifest(directory: str) -> Manifest:
    """Read the manifest of a salvage directory, which is untrusted input. Raises ManifestError or DocumentError."""
    path = Path(directory, MANIFEST)
    if not path.exists():
        raise ManifestError(
            f"{directory} is no finished salvage: it has no {MANIFEST}. Give the directory that a salvage has written"
        )
    return manifest_from(read_file(str(path), _MOST_BYTES), str(path))


def manifest_from(data: bytes, path: str) -> Manifest:
    """Return the manifest that was read from ``path``. Raises ManifestError."""
    try:
        content = json.loads(data)
        jsonschema.validate(content, _SCHEMA)
    except ValueError as error:
        raise ManifestError(f"{path} could not be read: it is no JSON ({error})") from None
    except jsonschema.ValidationError as error:
        place = "/".join(map(str, error.absolute_path)) or "whole document"
        raise ManifestError(f"{path} is not a manifest of format {_FORMAT}: {place}: {error.message[:200]}") from None
    del content["format"]
    return Manifest(
        **{name: content[name] for name in _TEXTS},
        origins=tuple(
            SavedFrom(each["broker_id"], tuple(each["directory_ids"]), tuple(each["log_dirs"]))
            for each in content["origins"]
        ),
        held=tuple(HeldRecords(each["topic"], each["partition"], _ranges(each["ranges"])) for each in content["held"]),
        partitions=tuple(SavedRecords(**{**each, "ranges": _ranges(each["ranges"])}) for each in content["partitions"]),
        files=tuple(SavedFile(**each) for each in content["files"]),
    )


def faults_of_files(directory: str, files: Sequence[SavedFile]) -> list[str]:
    """Compare the files with their manifest. Returns what is wrong, in order of name; empty when nothing is."""
    faults = []
    for each in files:
        path = Path(directory, RECORDS, each.name)
        try:
            found = digest(path)
        except OSError as error:
            faults.append(f"{path} could not be read: {error.strerror}")
            continue
        if found != each:
            faults.append(f"{path} is not the file that was saved: its size or its SHA-256 differs from the manifest's")
    return faults


def digest(path: Path) -> SavedFile:
    """Read a file and return its size and SHA-256. Raises OSError."""
    total = hashlib.sha256()
    size = 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            total.update(piece)
            size += len(piece)
    return SavedFile(path.name, size, total.hexdigest())


def _ranges(values: Sequence[dict[str, int]]) -> Stretches:
    return tuple(EpochRange(**each) for each in values)
