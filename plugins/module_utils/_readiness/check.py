# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a check of the readiness found, and the file that says so. It holds no secret.

Pure; standard library only. Schema: docs/schemas/readiness-report.schema.json.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

from .._documents.dataclass_json import codec, document
from .._model.fields import SCHEMA_VERSION, BrokerId, ClusterId, Count, Meta, SchemaVersion, Time


class CheckName(StrEnum):
    """What was checked, in the order in which a report has it."""

    BROKERS = "brokers"
    CONTROLLERS = "controllers"
    QUORUM = "quorum"
    PARTITIONS = "partitions"
    LEFTOVERS = "leftovers"
    PERMISSIONS = "permissions"
    JOURNAL = "journal"
    MECHANISM = "mechanism"
    CERTIFICATES = "certificates"
    CLOCKS = "clocks"
    VERSIONS = "versions"
    LIBRARIES = "libraries"
    JAVA = "java"
    CLASS_ARCHIVE = "class_archive"
    DISK_SPACE = "disk_space"
    REPLICATION_FACTOR = "replication_factor"
    MIN_INSYNC_REPLICAS = "min_insync_replicas"
    UNCLEAN_ELECTION = "unclean_election"
    BROKER_LOSS = "broker_loss"


class Status(StrEnum):
    """How a check ended, worst first."""

    FAILED = "failed"
    """A recovery would fail, or harm more than it has to."""
    UNKNOWN = "unknown"
    """It could not be found out. That counts as failed: missing data is never fine."""
    WARNING = "warning"
    """A recovery works, and costs more time or records than it has to."""
    OK = "ok"


_ORDER = {status: number for number, status in enumerate(Status)}
RED = frozenset({Status.FAILED, Status.UNKNOWN})


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked."""

    name: CheckName
    status: Status
    subject: str
    """What it is about, such as "broker 3". Empty where it is about the whole cluster or this host."""
    found: str
    remedy: str
    """Empty where nothing has to be done."""


def passed(name: CheckName, found: str, subject: str = "") -> Check:
    """Return a check that found nothing wrong."""
    return Check(name, Status.OK, subject, found, "")


def some_of(names: Iterable[object], most: int = 5) -> str:
    """Return the first names, and how many more there are."""
    texts = [str(each) for each in names]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


@dataclass(frozen=True, slots=True)
class BrokerLoss:
    """What would happen to partitions that have a leader now, if one broker died now."""

    broker_id: BrokerId
    offline_partitions: Count
    """They would have no leader until the broker is back, or until another replica is elected unclean."""
    offline: str
    """Their topics with numbers."""
    unrecoverable_partitions: Count
    """Of these, those of which no other broker that lives has a replica."""
    unrecoverable: str
    below_min_isr_partitions: Count | None
    """They would have a leader and take no more records with acks=all. None where the settings could not be read."""


BrokerLosses = Annotated[
    tuple[Annotated[BrokerLoss, Meta(description="what a broker's loss would do is an object")], ...],
    Meta(description="what each broker's loss would do is a list"),
]


@dataclass(frozen=True, slots=True)
class Readiness:
    """Everything that was checked."""

    cluster_id: ClusterId | None
    """None where no broker answers."""
    is_ready: bool
    """False when a check failed, or when something could not be found out."""
    checks: Annotated[
        tuple[Annotated[Check, Meta(description="a check is an object")], ...],
        Meta(description="the checks are a list"),
    ]
    """The worst first."""
    broker_losses: BrokerLosses


def readiness(cluster_id: str | None, checks: Iterable[Check], losses: Iterable[BrokerLoss]) -> Readiness:
    """Put the results together."""
    names = list(CheckName)
    ordered = tuple(sorted(checks, key=lambda each: (_ORDER[each.status], names.index(each.name))))
    return Readiness(cluster_id, not any(each.status in RED for each in ordered), ordered, tuple(losses))


@dataclass(frozen=True, slots=True)
class ReadinessReport:
    """What was found, and when."""

    schema_version: SchemaVersion = field(default=SCHEMA_VERSION, init=False)
    started_at: Time
    finished_at: Time
    readiness: Annotated[Readiness, Meta(flat=True)]


_CODEC = codec(ReadinessReport, "a report of the readiness is an object")
READINESS_REPORT = document(
    "readiness-report", "Whether a cluster and this host are ready for a recovery", _CODEC.schema
)


def readiness_report_document(readiness: Readiness, started_at: str, finished_at: str) -> dict[str, Any]:
    """Return the report as it stands in a file."""
    document: dict[str, Any] = _CODEC.encode(ReadinessReport(started_at, finished_at, readiness))
    return document
