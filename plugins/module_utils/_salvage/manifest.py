# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read and write the manifest of a salvage directory: what was saved, from where, and by whom.

It is written last: a directory without a manifest is unfinished. It has no key, no value and no secret.
Schema: docs/schemas/salvage-manifest.schema.json.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from .._documents.dataclass_json import codec, document
from .._documents.files import format_document, read_file
from .._documents.strict_json import parse_json
from .._documents.validation import schema_problems
from .._model.fields import (
    SCHEMA_VERSION,
    BrokerId,
    ClusterId,
    LeaderEpoch,
    Meta,
    PartitionIndex,
    SchemaVersion,
    SizeBytes,
    Time,
    TopicName,
)
from .._model.log_contents import Stretches
from .._model.partition import OfPartition, TopicPartition
from .._model.run import KafkaOpsError
from .saved import SavedRecords, UnreadableOffsets

MANIFEST = "manifest.json"
RECORDS = "records"
"""Directory of the Parquet files in a salvage directory."""
_MOST_BYTES = 256 * 1024 * 1024


class ManifestError(KafkaOpsError):
    """A directory is no finished salvage, or its files differ from its manifest."""


@dataclass(frozen=True, slots=True)
class SavedFile:
    """One Parquet file. ``name`` is relative to ``RECORDS``."""

    name: Annotated[str, Meta(description="a file name has a-z, A-Z, 0-9, . _ and - only", pattern="^[A-Za-z0-9._-]+$")]
    size: SizeBytes
    sha256: Annotated[str, Meta(description="a SHA-256 digest is 64 hexadecimal digits", pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True, slots=True)
class SavedFrom:
    """The broker that records were saved from. Directories are empty if the records came over the network."""

    broker_id: BrokerId
    directory_ids: tuple[str, ...] = ()
    log_dirs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HeldRecords(OfPartition):
    """Offsets of one partition that losers held and the leader lacked, saved or not."""

    topic: TopicName
    partition: PartitionIndex
    ranges: Annotated[Stretches, Meta(description="what losers held is a list of stretches")]
    reused_epochs: tuple[LeaderEpoch, ...] = ()
    """Leader epochs that two leaders had. The leader may have other records with the same epoch and offset."""
    unreadable: Annotated[
        tuple[Annotated[UnreadableOffsets, Meta(description="what is unreadable is an object")], ...],
        Meta(description="what is unreadable is a list"),
    ] = ()
    """The part of ``ranges`` that could not be read, without what compaction removed."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One finished salvage."""

    schema_version: SchemaVersion = field(default=SCHEMA_VERSION, init=False)
    salvage_id: str
    cluster_id: ClusterId
    taken_at: Time
    taken_on: str
    """Name of the host."""
    taken_by: str
    """Name of the user."""
    collection_version: str
    origins: Annotated[tuple[SavedFrom, ...], Meta(description="the brokers are a list, not empty", min_items=1)]
    held: tuple[HeldRecords, ...]
    """In order of topic and number."""
    partitions: tuple[SavedRecords, ...]
    files: tuple[SavedFile, ...]

    @property
    def by_partition(self) -> dict[TopicPartition, SavedRecords]:
        return {each.topic_partition: each for each in self.partitions}


_CODEC = codec(Manifest, "a manifest of a salvage is an object")
SALVAGE_MANIFEST = document("salvage-manifest", "What a salvage directory holds, and who saved it", _CODEC.schema)


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the content of the manifest file."""
    return format_document(_CODEC.encode(manifest))


def read_manifest(directory: str) -> Manifest:
    """Read and validate the manifest of a salvage directory. Raises ManifestError or DocumentError."""
    path = Path(directory, MANIFEST)
    if not path.exists():
        raise ManifestError(
            f"{directory} is no finished salvage: it has no {MANIFEST}. Give the directory that a salvage has written"
        )
    return decode_manifest(read_file(str(path), _MOST_BYTES), str(path))


def decode_manifest(data: bytes, path: str) -> Manifest:
    """Validate the content of a manifest file. ``path`` is for messages. Raises DocumentError."""
    return _CODEC.decode(parse_json(data, path, lambda value: schema_problems(value, SALVAGE_MANIFEST)))


def find_file_problems(directory: str, files: Sequence[SavedFile]) -> list[str]:
    """Compare the files with their manifest. Returns one message per file that differs."""
    problems = []
    for each in files:
        path = Path(directory, RECORDS, each.name)
        try:
            found = digest(path)
        except OSError as error:
            problems.append(f"{path} could not be read: {error.strerror}")
            continue
        if found != each:
            problems.append(
                f"{path} is not the file that was saved: its size or its SHA-256 differs from the manifest's"
            )
    return problems


def digest(path: Path) -> SavedFile:
    """Return a file's name, size and SHA-256. Raises OSError."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256")
        return SavedFile(path.name, file.tell(), found.hexdigest())
