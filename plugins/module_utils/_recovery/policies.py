# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the recovery policy of each topic from the options and from Kafka's configs.

The doc fragment ``policy`` describes the options.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from .._history.host_boots import HOST_BOOTS
from .._kafka.cluster import online_addresses
from .._kafka.errors import NoBrokerAnswersError, RequestRefusedError
from .._kafka.port import Kafka
from .._model.partition import UNCLEAN, Broker, TopicPartition
from .._model.reasons import join_first
from .._model.run import KafkaOpsError
from .._model.setting import Setting
from .._module.connection import Arguments
from .strategy import Policy, ProofRule, Strategy
from .survey import Survey

_FROM_CONFIG = "from_config"

POLICY = HOST_BOOTS + Arguments(
    argument_spec={
        "recovery_strategy": {
            "type": "str",
            "choices": [*(each.value for each in Strategy), _FROM_CONFIG],
            "default": Strategy.BALANCED.value,
        },
        "max_lost_records": {"type": "int"},
        "proof": {"type": "str", "choices": [each.value for each in ProofRule], "default": ProofRule.IGNORE.value},
        "max_estimated_loss": {"type": "int"},
        "recordings": {"type": "path"},
        "metadata_log_dir": {"type": "path"},
        "allow_empty_leader": {"type": "bool", "default": False},
        "acknowledge_unclean_leader_election": {"type": "bool", "default": False},
        "allow_dropping_unregistered": {"type": "bool", "default": False},
    }
)


class PolicyError(KafkaOpsError):
    """An option of the policy is not valid, or the cluster's configs do not allow it."""


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """The options of the policy."""

    policy: Policy
    """That of each topic."""
    from_config: bool
    """Whether its strategy is derived from unclean.leader.election.enable of the topic instead."""
    acknowledges_unclean_leader_election: bool
    """True if the operator accepts that the controller may elect by itself during the run, without comparing logs."""

    def same_for_all(self, topics: Iterable[str]) -> dict[str, Policy]:
        """Return the same policy for all topics, without reading configs.

        Raises PolicyError if the strategy depends on configs.
        """
        if self.from_config:
            raise PolicyError("from_config reads the cluster's configs, and evidence holds none: name a strategy")
        return dict.fromkeys(topics, self.policy)


def read_policy_options(params: Mapping[str, Any]) -> PolicyOptions:
    """Read the options of the requested elections. Opens no connection.

    Raises PolicyError.
    """
    from_config = params["recovery_strategy"] == _FROM_CONFIG
    for name in ("max_lost_records", "max_estimated_loss"):
        if params[name] is not None and params[name] < 0:
            raise PolicyError(f"{name} must be 0 or greater, got {params[name]}")
    policy = Policy(
        Strategy.BALANCED if from_config else Strategy(params["recovery_strategy"]),
        params["max_lost_records"],
        params["allow_empty_leader"],
        ProofRule(params["proof"]),
        params["max_estimated_loss"],
    )
    options = PolicyOptions(policy, from_config, params["acknowledge_unclean_leader_election"])
    if params.get("evidence") is not None:
        options.same_for_all(())
        if params["allow_dropping_unregistered"]:
            raise PolicyError(
                "allow_dropping_unregistered is about brokers that are registered now, which evidence does not say: "
                "leave it out, or leave out evidence"
            )
    return options


REMOTE_STORAGE = "remote.storage.enable"
_TRUE = "true"
_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class _Config:
    """unclean.leader.election.enable for one topic."""

    own: bool | None
    """The value of the topic's own config; None if it is not set."""
    brokers: frozenset[bool]
    """The values of the brokers and controllers that answered, which apply if the topic's own is not set."""
    unknown: str = ""
    """Why the value of a controller is unknown. Empty if it is known, or does not matter."""

    @property
    def is_enabled_anywhere(self) -> bool:
        return self.own if self.own is not None else True in self.brokers

    @property
    def strategy(self) -> Strategy:
        """The strategy for the config (KIP-966). If brokers differ, the strategy that loses less."""
        is_enabled = False not in self.brokers if self.own is None else self.own
        return Strategy.AGGRESSIVE if is_enabled else Strategy.BALANCED


def read_policies(
    kafka: Kafka, topics: Iterable[str], options: PolicyOptions, brokers: Iterable[Broker] = ()
) -> dict[str, Policy]:
    """Return the policy of each topic. Those of the ``brokers`` that are online are asked for their config too.

    Raises PolicyError with all reasons: the config of a topic is hidden from us, or the controller may make unclean
    elections by itself and the operator has not acknowledged it. Raises NoBrokerAnswersError or RequestRefusedError.
    """
    wanted = sorted(set(topics))
    if not options.from_config and options.acknowledges_unclean_leader_election:
        return options.same_for_all(wanted)
    found = _read_configs(kafka, wanted, brokers)
    _refuse(wanted, found, accepts_enabled=options.acknowledges_unclean_leader_election)
    if not options.from_config:
        return options.same_for_all(found)
    return {topic: replace(options.policy, strategy=config.strategy) for topic, config in found.items()}


def add_tiered_topics(kafka: Kafka, found: Survey) -> Survey:
    """Return the survey with ``tiered`` set. If the configs cannot be read, it stays empty."""
    topics = sorted({each.topic for each in found.offline})
    try:
        configs = kafka.topic_configs(topics, REMOTE_STORAGE) if topics else {}
    except (NoBrokerAnswersError, RequestRefusedError):
        return found
    known = {topic: config.value == _TRUE for topic, config in configs.items() if config.value is not None}
    return replace(found, tiered=known)


def refuse_unclean_by_controller(
    kafka: Kafka, partitions: Collection[TopicPartition], brokers: Iterable[Broker]
) -> tuple[str, ...]:
    """Check the configs again right before elections: they may have changed since the plan was made.

    Only topics with offline partitions are checked. Return a note if what the controllers do is unknown.

    Raises PolicyError if the controller may make unclean elections by itself, or if a config is hidden from us. Raises
    NoBrokerAnswersError, BrokerCallError or RequestRefusedError.
    """
    states = kafka.read_partition_states(partitions).states
    wanted = sorted({each.topic for each, state in states.items() if state.is_offline})
    found = _read_configs(kafka, wanted, brokers)
    _refuse(wanted, found)
    unknown = [topic for topic, config in found.items() if config.unknown]
    if not unknown:
        return ()
    return (
        f"whether the controllers' own properties set {UNCLEAN} to true for {join_first(unknown, _MOST_NAMED)} is "
        f"unknown: {found[unknown[0]].unknown}. If they do, the controller may elect any live replica by itself",
    )


def _read_configs(kafka: Kafka, topics: list[str], brokers: Iterable[Broker]) -> dict[str, _Config]:
    """Read the config of each topic, and of each broker: brokers may differ, and a topic's config shows one of them.

    A broker that does not answer is ignored. The controller uses its own config, which no broker reports: so the
    controllers are asked too, if their listeners are known.
    """
    found = kafka.topic_configs(topics, UNCLEAN)
    if all(each.is_own for each in found.values()):
        return {topic: _Config(each.value == _TRUE, frozenset()) for topic, each in found.items()}
    addresses = online_addresses(brokers)

    def ask(broker_id: int) -> Setting | None:
        with suppress(RequestRefusedError):
            return kafka.broker_config(addresses[broker_id], broker_id, UNCLEAN)
        return None

    answers = kafka.in_parallel(ask, addresses).values()
    said = {each.value == _TRUE for each in answers if isinstance(each, Setting) and each.value is not None}
    controllers = kafka.controller_configs(UNCLEAN)
    said |= {value == _TRUE for value in controllers.values.values() if value is not None}
    return {
        topic: _Config(each.value == _TRUE, frozenset())
        if each.is_own
        else _Config(None, frozenset({*said, each.value == _TRUE}), controllers.unknown)
        for topic, each in found.items()
    }


def _refuse(wanted: list[str], found: Mapping[str, _Config], *, accepts_enabled: bool = False) -> None:
    """Raise PolicyError if a config is hidden, or if a controller may elect by itself and that is not accepted."""
    refusals = []
    if hidden := [topic for topic in wanted if topic not in found]:
        refusals.append(
            f"{UNCLEAN} of {join_first(hidden, _MOST_NAMED)} cannot be read, so that it is not known whether the "
            "controller elects by itself: grant DESCRIBE_CONFIGS on the topic, or name a strategy and set "
            "acknowledge_unclean_leader_election"
        )
    enabled = [topic for topic, config in found.items() if config.is_enabled_anywhere]
    if enabled and not accepts_enabled:
        refusals.append(
            f"{UNCLEAN} is true for {join_first(enabled, _MOST_NAMED)}: the controller may elect any live replica by "
            "itself, at any time, without comparing logs, during this run. Set it to false first, on the topic, or on "
            "all brokers and controllers, or set acknowledge_unclean_leader_election"
        )
    if refusals:
        raise PolicyError("\n".join(refusals))
