# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the types of fields in JSON documents, with bounds and descriptions. Standard library only.

A description says what a value must be. It is in the published schema, and in the message about a wrong value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Annotated, Any, TypeAlias

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Meta:
    """Additional data about a type, for ``typing.Annotated``. Names are those of JSON Schema if it has them."""

    subject: str = ""
    """For an integer, a boolean, a string or an enum: the subject of its description, such as "a broker id".

    The default is the field's name with an article, and "this" for a boolean.
    """
    _: KW_ONLY  # pylint: disable=disallowed-name
    description: str = ""
    """The whole description. The defaults: "the <field's name> are a list", and "a <class' name> is an object"."""
    minimum: int | None = None
    maximum: int | None = None
    """Every integer needs both bounds. They are inclusive."""
    pattern: str = ""
    """A regular expression, anchored at both ends."""
    min_items: int = 0
    name: str = ""
    """The key in JSON. The default is the field's name in camel case."""
    keys: type[StrEnum] | None = None
    """For a mapping: the enum that defines its keys. The mapping has a value for each of them."""
    zero: str = ""
    """For an integer: the word that stands for 0 in JSON, such as "none"."""
    flat: bool = False
    """For a dataclass: its keys are added to the outer object. Such a field is only written, never read."""


@dataclass(frozen=True, slots=True)
class WrittenAs:
    """For ``typing.Annotated``: the type of the field in JSON. Such a field is only written, never read."""

    type: Any
    convert: Callable[[Any], Any]


def counts_of_words(kind: type[StrEnum], value: Any, description: str) -> WrittenAs:
    """Write a mapping of counts with all words of an enum as keys. Missing counts are 0."""
    return WrittenAs(
        Annotated[Mapping[str, value], Meta(description=description, keys=kind)],
        lambda counts: {word.value: counts.get(word, 0) for word in kind},
    )


TOPIC_PATTERN = r"^(?!\.\.?$)[a-zA-Z0-9._-]{1,249}$"
"""org.apache.kafka.common.internals.Topic.validate."""
UUID_PATTERN = "^[A-Za-z0-9_-]{22}$"

SchemaVersion: TypeAlias = Annotated[
    int,
    Meta(
        description=f"the schema version that this version of kafkaops.recovery reads is {SCHEMA_VERSION}",
        minimum=SCHEMA_VERSION,
        maximum=SCHEMA_VERSION,
    ),
]
TopicName: TypeAlias = Annotated[
    str,
    Meta(
        description=(
            'a topic name has 1 to 249 of the characters a-z, A-Z, 0-9, ".", "_" and "-", and is neither "." nor ".."'
        ),
        pattern=TOPIC_PATTERN,
    ),
]
TopicId: TypeAlias = Annotated[
    str, Meta(description="a topic id is 22 characters of URL-safe base64", pattern=UUID_PATTERN)
]
ClusterId: TypeAlias = Annotated[
    str, Meta(description="a cluster id is not empty, and has no spaces", pattern="^[!-~]+$")
]
DIGEST_PATTERN = "^sha256:[0-9a-f]{64}$"
Digest: TypeAlias = Annotated[
    str, Meta(description="a digest is sha256: and 64 characters of 0-9 and a-f", pattern=DIGEST_PATTERN)
]
Time: TypeAlias = Annotated[
    str,
    Meta(
        description="a time is UTC in ISO 8601, to the second: 2026-01-31T23:59:59Z",
        pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
    ),
]
Moment: TypeAlias = Annotated[
    str,
    Meta(
        description="a moment is UTC in RFC 3339, to the millisecond: 2026-01-31T23:59:59.123Z",
        pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z$",
    ),
]
PartitionIndex: TypeAlias = Annotated[int, Meta("a partition", minimum=0, maximum=INT32_MAX)]
BrokerId: TypeAlias = Annotated[int, Meta("a broker id", minimum=0, maximum=INT32_MAX)]
NodeId: TypeAlias = Annotated[int, Meta("a node id", minimum=0, maximum=INT32_MAX)]
LeaderId: TypeAlias = Annotated[int, Meta("a leader's broker id (-1: no leader)", minimum=-1, maximum=INT32_MAX)]
LeaderEpoch: TypeAlias = Annotated[int, Meta("a leader epoch", minimum=0, maximum=INT32_MAX)]
Offset: TypeAlias = Annotated[int, Meta("an offset", minimum=0, maximum=INT64_MAX)]
SizeBytes: TypeAlias = Annotated[int, Meta("a size in bytes", minimum=0, maximum=INT64_MAX)]
Milliseconds: TypeAlias = Annotated[int, Meta("a number of milliseconds", minimum=0, maximum=INT64_MAX)]
Count: TypeAlias = Annotated[int, Meta("a count", minimum=0, maximum=INT32_MAX)]
Port: TypeAlias = Annotated[int, Meta("a port", minimum=0, maximum=65535)]

Replicas: TypeAlias = Annotated[tuple[BrokerId, ...], Meta(description="the replicas are a list of broker ids")]
"""In order of preference."""
