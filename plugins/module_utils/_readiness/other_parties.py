# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Recognize operators and services that change a cluster too, by what they leave in it. Pure; standard library only.

Such a party may put back what a run changed, move replicas during a recovery, or forbid the requests of one. What to
pause, and where the names are from: docs/other_parties.md. A party that leaves none of these signs is not found.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .._model.partition import Broker
from .._model.reasons import join_first
from .check import Check, CheckName, CheckStatus, passed

CONFIGS = ("inter.broker.listener.name", "metric.reporters", "confluent.balancer.enable")
"""The configs of a broker that show a party."""


@dataclass(frozen=True, slots=True)
class _Party:
    name: str
    topics: str
    """Pattern of the names of its topics. Empty if it has none."""
    hosts: str
    """Pattern of the hosts of its brokers. Empty if they may have any."""
    config: str
    """Pattern of ``name=value`` of a broker's config. Empty if it sets none."""
    status: CheckStatus
    effect: str
    remedy: str
    off: str = ""
    """Pattern of ``name=value`` of a broker's config by which it is switched off. What it has left stays."""


_PARTIES = (
    _Party(
        "Strimzi",
        r"__strimzi[_-].*",
        r".*-kafka-brokers\.[^.]+\.svc(\..*)?",
        r"inter\.broker\.listener\.name=REPLICATION-9091",
        CheckStatus.WARNING,
        "its operators restart brokers and put configs and topics back",
        "Before a recovery or a drain, annotate the Kafka resource, and the KafkaTopic resources of the partitions: "
        'strimzi.io/pause-reconciliation="true". Remove the annotation afterwards',
    ),
    _Party(
        "Cruise Control",
        r"__CruiseControlMetrics|__KafkaCruiseControl.*|strimzi\.cruisecontrol\..*",
        "",
        r"metric\.reporters=.*CruiseControlMetricsReporter.*",
        CheckStatus.WARNING,
        "it moves replicas, and its PreferredLeaderElectionGoal and rebalances undo drains",
        "Before a recovery or a drain, stop its self-healing and its running execution "
        "(POST admin?disable_self_healing_for=..., POST stop_proposal_execution)",
    ),
    _Party(
        "Confluent Self-Balancing",
        r"_confluent_balancer_.*",
        "",
        r"confluent\.balancer\.enable=true",
        CheckStatus.WARNING,
        "it moves replicas and leaders by itself, also when a broker dies",
        "Before a recovery or a drain, set confluent.balancer.enable=false as the dynamic cluster default, and set it "
        "back afterwards",
        off=r"confluent\.balancer\.enable=false",
    ),
    _Party(
        "Amazon MSK",
        "",
        r".*\.kafka\.[a-z0-9-]+\.amazonaws\.com(\.cn)?",
        "",
        CheckStatus.WARNING,
        "AWS replaces brokers by itself. Controllers and disks cannot be reached: there is no history of an outage, "
        "no salvage of a disk and no recovery of the quorum",
        "Grant the IAM actions of docs/other_parties.md, and ask AWS to leave the cluster alone during a recovery",
    ),
    _Party(
        "a service without the requests of a recovery (MSK Serverless, Confluent Cloud or Event Hubs)",
        "",
        r".*\.(kafka-serverless\.[a-z0-9-]+\.amazonaws\.com|confluent\.cloud|servicebus\.windows\.net)",
        "",
        CheckStatus.FAILED,
        "its provider elects leaders and restores replicas, and refuses these requests from clients",
        "Open a case with the provider. What only reads may work here; recovery, drain and repair do not",
    ),
)


def check_other_parties(
    topics: Collection[str], brokers: Sequence[Broker], configs: Mapping[str, str | None]
) -> Iterator[Check]:
    """Check which other parties change this cluster.

    ``configs`` are ``CONFIGS`` of one broker, by name; None or missing if the broker did not tell.
    """
    found = [*_find_parties(topics, brokers, configs)]
    yield from found
    if not found:
        yield passed(CheckName.OTHER_PARTIES, "no topic, address or config of another operator was found")


def _find_parties(
    topics: Collection[str], brokers: Sequence[Broker], configs: Mapping[str, str | None]
) -> Iterator[Check]:
    settings = [f"{name}={value}" for name, value in configs.items() if value]
    for party in _PARTIES:
        if _sign("config", party.off, settings):
            continue
        signs = [
            *_sign("topic", party.topics, sorted(topics)),
            *_sign("address", party.hosts, sorted({each.host for each in brokers if each.host})),
            *_sign("config", party.config, settings),
        ]
        if signs:
            text = f"{party.name} is beside us ({', '.join(signs)}): {party.effect}"
            yield Check(CheckName.OTHER_PARTIES, party.status, "", text, party.remedy)


def _sign(kind: str, pattern: str, names: Sequence[str]) -> list[str]:
    matches = [each for each in names if pattern and re.fullmatch(pattern, each)]
    return [f"{kind} {join_first(matches, 2)}"] if matches else []
