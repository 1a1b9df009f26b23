# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check brokers and controllers: addresses, certificates, SASL mechanism, versions, clocks. Only reads."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from .._kafka import quorum
from .._kafka.capabilities import BrokerCapabilities
from .._kafka.certificates import Certificate, listener_certificate, own_certificates, trusted_certificates
from .._kafka.client_configs import NOT_IN_LIBRDKAFKA
from .._kafka.cluster import check_identity
from .._kafka.errors import BrokerCallError
from .._kafka.log_dirs import LogDirs
from .._kafka.port import Kafka
from .._kafka.settings import Address, ConnectionSettings, parse_addresses
from .._model.partition import Broker, BrokerState
from .._model.reasons import join_first, plural
from .._model.replaced_disk import doubt_elections
from .._model.run import KafkaOpsError
from .._module.libraries import PLAYBOOKS_WITH_BOTH_KAFKA_CLIENTS
from .._quorum.assessment import Assessment
from .._quorum.finding import FindingKind, Severity
from .check import Check, CheckName, CheckStatus, failed, passed, unknown, warning

_DAY_S = 86_400
_EXPIRES_SOON_DAYS = 7
"""Fewer days than this are a failure: the certificate may expire at the weekend."""
_REQUIRED = {
    "DescribeTopicPartitions": (75, 0),
    "DescribeCluster": (60, 0),
    "ElectLeaders": (43, 2),
    "AlterPartitionReassignments": (45, 0),
    "DescribeQuorum": (55, 0),
    "DescribeProducers": (61, 0),
}
"""API key and version of each request. Kafka 3.9 has all of them."""
_MOST_SKEW_MS = 60_000
_KERBEROS_SKEW_MS = 300_000
"""Kerberos' own limit (clockskew in krb5.conf)."""

_IT_RUNS = {
    BrokerState.HUNG: (
        "It runs, so do not start it a second time. Find out why it does not answer: a paused process, a slow or full "
        "disk, a long garbage collection"
    ),
    BrokerState.NOT_AUTHORIZED: "It runs. Correct the credentials or the certificate, or grant what is missing",
}
_LATE = "Move no leader to it until then: a partition that it is elected for takes no records for that time"
SAVE_FIRST = (
    "Do not start it yet: it may hold the only copy of records that a leader lacks, and would delete them. "
    "Save its disk first (playbook kafkaops.recovery.salvage_logs)"
)
_SAVE_DIR_FIRST = (
    "Do not restart it with this directory yet: it may hold the only copy of records that a leader lacks, and the "
    "broker would delete them. If the directory can be read, save it first (playbook kafkaops.recovery.salvage_logs)"
)
_REPAIR = (
    "Repair the disk, or free space if it is full, and restart the broker with the old content. Recover partitions "
    "without a leader before you replace it: with an empty directory, the broker may be elected"
)


def check_brokers(
    kafka: Kafka,
    brokers: Sequence[Broker],
    live: Mapping[int, Address],
    holders: Collection[int],
    to_save: Collection[int] = (),
) -> Iterator[Check]:
    """Check that each broker answers at its advertised address, and that no other broker answers there.

    ``holders`` are ids of brokers with replicas. A recovery does not need the others: a removed broker stays registered
    until somebody unregisters it. ``to_save`` are ids of brokers whose disks must be saved before they are started.
    """

    def identify(broker_id: int) -> None:
        kafka.wire.with_connection(live[broker_id], lambda connection: check_identity(connection, broker_id))

    identities, late = kafka.in_parallel(identify, live), kafka.find_late(live)
    servers = ",".join(map(str, kafka.settings.bootstrap_servers))
    unregister = f"kafka-cluster.sh unregister --bootstrap-server {servers}"
    reach = "correct advertised.listeners, name resolution or the packet filter between it and this host"
    remedy = f"Start it, or {reach}"
    for each in brokers:
        subject = f"broker {each.broker_id}"
        identity = identities.get(each.broker_id)
        if each.is_fenced and each.broker_id not in holders and each.state is not BrokerState.ONLINE:
            yield warning(
                CheckName.BROKERS,
                f"{each.state.value}: {each.cause}. No partition has a replica on it",
                f"Start it or, if it was removed, unregister it: {unregister} --id {each.broker_id}",
                subject,
            )
        elif each.state is not BrokerState.ONLINE:
            doubt = "" if each.unclean_elections is not None else doubt_elections(each.unclean_elections_missing)
            start = ". ".join(filter(None, (remedy, doubt)))
            what = SAVE_FIRST if each.broker_id in to_save else _IT_RUNS.get(each.state, start)
            yield failed(CheckName.BROKERS, f"{each.state.value}: {each.cause}", what, subject)
        elif isinstance(identity, BrokerCallError):
            yield failed(CheckName.BROKERS, str(identity), f"{reach[0].upper()}{reach[1:]}", subject)
        elif each.broker_id in late:
            found = f"answers at {live[each.broker_id]}, and applies metadata late: {late[each.broker_id]}"
            yield warning(CheckName.BROKERS, found, _LATE, subject)
        else:
            yield passed(CheckName.BROKERS, f"answers at {live[each.broker_id]}", subject)


def check_log_dirs(
    log_dirs: Mapping[int, LogDirs | BrokerCallError], brokers: Iterable[Broker], to_save: Collection[int]
) -> Iterator[Check]:
    """Check that no live broker has an offline log directory.

    ``to_save`` are ids of brokers whose directories must be saved before they restart with them.
    """
    doubts = {
        each.broker_id: f". {doubt_elections(each.unclean_elections_missing, is_running=True)}"
        for each in brokers
        if each.unclean_elections is None
    }
    for broker_id, found in log_dirs.items():
        subject = f"broker {broker_id}"
        if isinstance(found, BrokerCallError):
            yield unknown(CheckName.BROKERS, str(found), "Make it answer first", subject)
            continue
        what = _SAVE_DIR_FIRST if broker_id in to_save else f"{_REPAIR}{doubts.get(broker_id, '')}"
        for log_dir, error in found.offline.items():
            yield failed(CheckName.BROKERS, f"log directory {log_dir} is offline: {error}", what, subject)


def check_controllers(assessment: Assessment) -> Iterator[Check]:
    """Check that each controller answers on its own listener, and that the quorum is healthy."""
    removed = {
        node_id
        for finding in assessment.findings
        if finding.kind is FindingKind.REMOVED_CONTROLLER_REGISTERED
        for node_id in finding.node_ids
    }
    for each in assessment.controllers:
        subject = f"controller {each.address if each.node_id is None else each.node_id}"
        if each.cause is None:
            yield passed(CheckName.CONTROLLERS, f"answers at {each.address}", subject)
        elif each.node_id in removed:
            yield passed(CheckName.CONTROLLERS, "no voter, and stopped: it counts for nothing", subject)
        else:
            yield failed(
                CheckName.CONTROLLERS,
                each.error or each.cause,
                "Start it, or correct its listener, name resolution or the packet filter between it and this host",
                subject,
            )
    if not assessment.controllers:
        yield warning(
            CheckName.CONTROLLERS,
            "controllers were not asked on their own listeners, so the quorum is unknown if no broker reaches it",
            "Set kafka_bootstrap_controllers, if this host can reach them",
        )
    reasons = assessment.verdicts.elections.reasons
    if reasons:
        yield failed(
            CheckName.QUORUM,
            f"elections must not be requested: {'; '.join(reasons)}",
            "Run the playbook kafkaops.recovery.check_quorum",
        )
    for finding in assessment.findings:
        if finding.severity is not Severity.INFO:
            subject = f"controllers {join_first(finding.node_ids)}" if finding.node_ids else ""
            found = f"{finding.kind.value.replace('_', ' ')}: {finding.meaning}"
            yield warning(CheckName.QUORUM, found, finding.remedy, subject)
    if not reasons:
        yield passed(CheckName.QUORUM, f"{plural(len(assessment.voters), 'voter')}, and a majority is caught up")


def check_mechanism(settings: ConnectionSettings) -> Check:
    """Check the SASL mechanism and the security protocol."""
    how = settings.security_protocol + (f" with {settings.sasl_mechanism}" if settings.uses_sasl else "")
    if settings.uses_sasl and settings.sasl_mechanism in NOT_IN_LIBRDKAFKA:
        return warning(
            CheckName.MECHANISM,
            f"{how}: {', '.join(PLAYBOOKS_WITH_BOTH_KAFKA_CLIENTS)} uses confluent-kafka, which does not have this "
            "mechanism",
            "Use a listener with another mechanism for this playbook",
        )
    if settings.uses_sasl and not settings.uses_tls and settings.sasl_mechanism in ("PLAIN", "OAUTHBEARER"):
        return warning(
            CheckName.MECHANISM, f"{how} sends the password or token in clear text", "Use SASL_SSL, or SCRAM"
        )
    return passed(CheckName.MECHANISM, f"we authenticate by {how}" if settings.uses_sasl else f"we connect by {how}")


def check_certificates(
    kafka: Kafka, brokers: Iterable[Address], controllers: Iterable[Address], least_days: int
) -> Iterator[Check]:
    """Check how long the certificates of each listener, our own and those of the trusted CAs are valid."""
    now = time.time()
    sides = {"broker": (kafka.settings, [*brokers])}
    if kafka.wire.controller_side is not kafka.wire:
        sides["controller"] = (kafka.wire.controller_side.settings, [*controllers])
    else:
        sides["broker"][1].extend(controllers)
    for settings, addresses in sides.values():
        if not settings.uses_tls:
            continue
        found = kafka.in_parallel(lambda address, each=settings: listener_certificate(each, address), addresses)  # type: ignore[misc]
        for address, certificate in found.items():
            subject = f"listener {address}"
            if isinstance(certificate, BrokerCallError):
                yield unknown(CheckName.CERTIFICATES, str(certificate), "Make it answer first", subject)
            else:
                yield _judge_certificate(certificate, subject, now, least_days)
        for whose, read in (("our own", own_certificates), ("a CA's", trusted_certificates)):
            try:
                certificates = read(settings)
            except (KafkaOpsError, OSError) as error:
                yield unknown(CheckName.CERTIFICATES, str(error), "Make it readable here", whose)
                continue
            for certificate in certificates:
                yield _judge_certificate(certificate, f"{whose}, {certificate.subject}", now, least_days)
    if not any(settings.uses_tls for settings, _addresses in sides.values()):
        yield passed(CheckName.CERTIFICATES, "no TLS is used")


def _judge_certificate(certificate: Certificate, subject: str, now: float, least_days: int) -> Check:
    days = int((certificate.expires_at - now) // _DAY_S)
    until = time.strftime("%Y-%m-%d", time.gmtime(certificate.expires_at))
    found = f"valid for {days} more days, until {until}" if days >= 0 else f"expired on {until}"
    if days >= least_days:
        return passed(CheckName.CERTIFICATES, found, subject)
    status = CheckStatus.FAILED if days < _EXPIRES_SOON_DAYS else CheckStatus.WARNING
    return Check(CheckName.CERTIFICATES, status, subject, found, "Renew the certificate")


def check_versions(kafka: Kafka, live: Mapping[int, Address]) -> Iterator[Check]:
    """Check that every broker supports the requests of a recovery, and that all brokers have the same release."""
    answers = kafka.in_parallel(lambda broker_id: kafka.read_capabilities(live[broker_id]), live)
    offers: dict[int, BrokerCapabilities] = {}
    for broker_id, answer in answers.items():
        subject = f"broker {broker_id}"
        if isinstance(answer, BrokerCallError):
            yield unknown(CheckName.VERSIONS, str(answer), "Make it answer first", subject)
            continue
        offers[broker_id] = answer
        missing = [name for name, (key, version) in _REQUIRED.items() if answer.requests.get(key, -1) < version]
        if missing:
            found = f"it does not support requests of a recovery: {', '.join(missing)}"
            yield failed(CheckName.VERSIONS, found, "Upgrade it to Kafka 3.9 or later", subject)
    if offers:
        yield _judge_features(offers)


def _judge_features(offers: Mapping[int, BrokerCapabilities]) -> Check:
    finalized = next((each.finalized for each in offers.values() if each.finalized), {})
    listed = ", ".join(f"{name} {level}" for name, level in sorted(finalized.items())) or "no feature"
    newest = {each.supported.get(quorum.METADATA_VERSION, 0) for each in offers.values()}
    if len(newest) > 1:
        levels = ", ".join(
            f"broker {broker_id}: {each.supported.get(quorum.METADATA_VERSION, 0)}"
            for broker_id, each in offers.items()
        )
        return warning(
            CheckName.VERSIONS,
            f"brokers have different releases (newest metadata.version of each: {levels}); finalized: {listed}",
            "Finish the upgrade",
        )
    return passed(CheckName.VERSIONS, f"all brokers have the same release; finalized: {listed}")


def check_clocks(kafka: Kafka) -> Check:
    """Compare the active controller's clock with ours. No RPC returns a broker's clock."""
    before = time.time()
    try:
        theirs = kafka.controller_time_ms()
    except (KafkaOpsError, IndexError) as error:
        return unknown(CheckName.CLOCKS, f"the active controller's clock: {error}", "Grant DESCRIBE")
    after = time.time()
    if theirs is None:
        return unknown(
            CheckName.CLOCKS,
            "the active controller does not return its clock",
            "Run the playbook kafkaops.recovery.check_quorum",
        )
    # The controller answered at some moment between before and after.
    skew_ms = int(max(before * 1000 - theirs, theirs - after * 1000, 0))
    limit = _KERBEROS_SKEW_MS if kafka.settings.sasl_mechanism == "GSSAPI" else _MOST_SKEW_MS
    found = f"the active controller's clock and ours differ by {skew_ms} ms"
    if skew_ms <= _MOST_SKEW_MS:
        return passed(CheckName.CLOCKS, found)
    status = CheckStatus.FAILED if skew_ms > limit and limit == _KERBEROS_SKEW_MS else CheckStatus.WARNING
    return Check(CheckName.CLOCKS, status, "", found, "Synchronize the clocks of this host and of the cluster (NTP)")


def controller_addresses(assessment: Assessment) -> list[Address]:
    """Return the addresses at which controllers answered on their own listeners."""
    return [
        address for each in assessment.controllers if each.cause is None for address in parse_addresses(each.address)
    ]
