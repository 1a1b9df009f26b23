# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads what Kafka may do by itself, and makes of it what an operator accepts for each topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.configs import TopicConfig, topic_configs
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.policy import Policy
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.strategy import Strategy

CONFIG = "unclean.leader.election.enable"
_MOST_NAMED = 10


class PolicyError(KafkaOpsError):
    """The cluster's configs do not let these options be carried out."""


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """What was asked for."""

    strategy: Strategy | None
    """None for what unclean.leader.election.enable of each topic stands for."""
    max_lost_records: int | None
    acknowledges_unclean_leader_election: bool
    """The controller may elect by itself, without looking at logs, while the run goes on."""

    def same_for_all(self, topics: Iterable[str]) -> dict[str, Policy]:
        """Where no cluster is asked.

        Raises PolicyError when only its configs would tell the strategy.
        """
        if self.strategy is None:
            raise PolicyError("from_config reads the cluster's configs, and evidence holds none: name a strategy")
        return dict.fromkeys(topics, Policy(self.strategy, self.max_lost_records))


def read_policies(wire: Wire, topics: Iterable[str], options: PolicyOptions) -> dict[str, Policy]:
    """The policy of each topic.

    Raises PolicyError, with all reasons: a topic on which the controller may elect unclean by itself and nobody
    acknowledged that, or whose config is hidden from us. NoBrokerAnswersError or RequestRefusedError.
    """
    wanted = sorted(set(topics))
    if options.strategy is not None and options.acknowledges_unclean_leader_election:
        return options.same_for_all(wanted)
    found = topic_configs(wire, wanted, CONFIG)
    refusals = [*_hidden(wanted, found)]
    if not options.acknowledges_unclean_leader_election:
        refusals += _enabled(found)
    if refusals:
        raise PolicyError("\n".join(refusals))
    return {
        topic: Policy(options.strategy or _from_config(config), options.max_lost_records)
        for topic, config in found.items()
    }


def _hidden(wanted: list[str], found: Mapping[str, TopicConfig]) -> list[str]:
    hidden = [topic for topic in wanted if topic not in found]
    if not hidden:
        return []
    return [
        f"{CONFIG} of {_named(hidden)} cannot be read, so that it is not known whether the controller elects by "
        "itself: grant DESCRIBE_CONFIGS, or name a strategy and set acknowledge_unclean_leader_election"
    ]


def _enabled(found: Mapping[str, TopicConfig]) -> list[str]:
    enabled = [topic for topic, config in found.items() if _from_config(config) is Strategy.AGGRESSIVE]
    if not enabled:
        return []
    return [
        f"{CONFIG} is true for {_named(enabled)}: the controller may elect any live replica by itself, at any time, "
        "without looking at logs, while this run compares them. Set it to false first, or set "
        "acknowledge_unclean_leader_election"
    ]


def _from_config(config: TopicConfig) -> Strategy:
    enabled = config.value == "true"
    return Strategy.from_config(enabled, None) if config.is_own else Strategy.from_config(None, enabled)


def _named(topics: list[str]) -> str:
    more = f" and {len(topics) - _MOST_NAMED} topics more" if len(topics) > _MOST_NAMED else ""
    return ", ".join(topics[:_MOST_NAMED]) + more
