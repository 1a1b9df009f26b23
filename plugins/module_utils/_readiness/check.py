# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the results of readiness checks, and build the readiness report. It has no secret.

Pure; standard library only. Schema: docs/schemas/readiness-report.schema.json.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from .._documents.dataclass_json import timed_report
from .._model.fields import BrokerId, ClusterId, Count, Meta
from .._model.run import KafkaOpsError


class CheckName(StrEnum):
    """What was checked, in the order of the report."""

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
    OTHER_PARTIES = "other_parties"


class CheckStatus(StrEnum):
    """Result of a check, worst first."""

    FAILED = "failed"
    """A recovery would fail, or do more harm than necessary."""
    UNKNOWN = "unknown"
    """The check could not be made. This counts as failed: missing data is never good."""
    WARNING = "warning"
    """A recovery would work, but cost more time or records than necessary."""
    OK = "ok"


_ORDER = {status: number for number, status in enumerate(CheckStatus)}
RED = frozenset({CheckStatus.FAILED, CheckStatus.UNKNOWN})


@dataclass(frozen=True, slots=True)
class Check:
    """One check and its result."""

    name: CheckName
    status: CheckStatus
    subject: str
    """For example "broker 3". Empty if the check is about the whole cluster or this host."""
    found: str
    remedy: str
    """Empty if nothing has to be done."""


def passed(name: CheckName, found: str, subject: str = "") -> Check:
    """Return a check with status OK."""
    return Check(name, CheckStatus.OK, subject, found, "")


def failed(name: CheckName, found: str, remedy: str, subject: str = "") -> Check:
    """Return a check with status FAILED."""
    return Check(name, CheckStatus.FAILED, subject, found, remedy)


def unknown(name: CheckName, found: str, remedy: str, subject: str = "") -> Check:
    """Return a check with status UNKNOWN."""
    return Check(name, CheckStatus.UNKNOWN, subject, found, remedy)


def warning(name: CheckName, found: str, remedy: str, subject: str = "") -> Check:
    """Return a check with status WARNING."""
    return Check(name, CheckStatus.WARNING, subject, found, remedy)


class ChecksError(KafkaOpsError):
    """What was given as checks is none."""


def read_checks(given: Iterable[Mapping[str, Any]] | None) -> tuple[Check, ...]:
    """Return the checks that another module returned. None gives none. Raises ChecksError."""
    try:
        return tuple(
            Check(CheckName(each["name"]), CheckStatus(each["status"]), *(str(each[name]) for name in _TEXTS))
            for each in given or ()
        )
    except (KeyError, ValueError) as error:
        raise ChecksError(f"journal_test is not what the module journal_test returned as checks: {error!r}") from None


_TEXTS = ("subject", "found", "remedy")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLoss:
    """What would happen to partitions that have a leader now, if brokers died now."""

    offline_partitions: Count
    """Partitions that would have no leader until the brokers are back, or until an unclean election."""
    offline: str
    """Topics and numbers of these partitions."""
    unrecoverable_partitions: Count
    """The offline partitions that have no replica on another live broker."""
    unrecoverable: str
    below_min_isr_partitions: Count | None
    """Partitions that would have a leader, but take no records with acks=all. None if settings could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerLoss(PartitionLoss):
    """What the death of one broker would do."""

    broker_id: BrokerId


@dataclass(frozen=True, slots=True, kw_only=True)
class RackLoss(PartitionLoss):
    """What the death of all brokers of one rack would do."""

    rack: str
    brokers: Annotated[tuple[BrokerId, ...], Meta(description="the brokers are a list of ids")]
    """Those that are alive now."""


@dataclass(frozen=True, slots=True)
class Losses:
    """What the death of each broker, and of each rack of several brokers, would do."""

    brokers: tuple[BrokerLoss, ...] = ()
    racks: tuple[RackLoss, ...] = ()


@dataclass(frozen=True, slots=True)
class Readiness:
    """The results of all checks."""

    cluster_id: ClusterId | None
    """None if no broker answers."""
    is_ready: bool
    """False if a check failed or could not be made."""
    checks: Annotated[
        tuple[Annotated[Check, Meta(description="a check is an object")], ...],
        Meta(description="the checks are a list"),
    ]
    """Worst first."""
    broker_losses: Annotated[
        tuple[Annotated[BrokerLoss, Meta(description="what a broker's loss would do is an object")], ...],
        Meta(description="what each broker's loss would do is a list"),
    ]
    rack_losses: Annotated[
        tuple[Annotated[RackLoss, Meta(description="what a rack's loss would do is an object")], ...],
        Meta(description="what each rack's loss would do is a list"),
    ]


def build_readiness(cluster_id: str | None, checks: Iterable[Check], losses: Losses) -> Readiness:
    """Sort the checks, and decide whether the cluster and this host are ready."""
    names = list(CheckName)
    ordered = tuple(sorted(checks, key=lambda each: (_ORDER[each.status], names.index(each.name))))
    return Readiness(cluster_id, not any(each.status in RED for each in ordered), ordered, losses.brokers, losses.racks)


READINESS_REPORT, encode_readiness_report = timed_report(
    "readiness-report",
    "Whether a cluster and this host are ready for a recovery",
    Readiness,
    "a report of the readiness is an object",
)
