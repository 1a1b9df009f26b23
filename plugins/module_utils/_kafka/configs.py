# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Configs of topics and brokers, and of the cluster default (DescribeConfigs, API key 32; IncrementalAlterConfigs, 44).

The resource of the cluster default has an empty name.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from . import error_codes
from .addresses import Address
from .messages import in_batches
from .wire import Wire

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from kafka.protocol.admin import DescribeConfigsRequest, IncrementalAlterConfigsRequest


_TOPIC = 2
_BROKER = 4
_SET_ON_TOPIC = 1
"""DYNAMIC_TOPIC_CONFIG, the source of a value that the topic itself has."""
_TOPICS_PER_REQUEST = 1000
_CLUSTER_DEFAULT = ""
_SET = 0
_DELETE = 1


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """A config as a broker returns it."""

    value: str | None
    """None where it is sensitive."""
    is_sensitive: bool
    """True also for every config that the broker does not know, since it could be a secret."""


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """A config as it holds for a topic."""

    value: str | None
    is_own: bool
    """False where the broker that was asked gives the value, by its own config or by Kafka's default."""


def topic_configs(wire: Wire, topics: Sequence[str], name: str) -> dict[str, TopicConfig]:
    """Return one config of each topic. Topics that are hidden from this principal, or do not exist, are left out.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    found = {}
    for some in in_batches(topics, _TOPICS_PER_REQUEST):
        response, _asked = wire.call_current(partial(_describe, _TOPIC, some, name), "DescribeConfigs")
        for result in response.results:
            for config in result.configs:
                if not result.error_code and config.name == name:
                    found[result.resource_name] = TopicConfig(config.value, config.config_source == _SET_ON_TOPIC)
    return found


def cluster_default(wire: Wire, name: str) -> ConfigEntry | None:
    """Return a config of the cluster default; None when it is not set. A write is visible some milliseconds later.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    response, _asked = wire.call_current(lambda: _describe(_BROKER, [_CLUSTER_DEFAULT], name), "DescribeConfigs")
    return _entry(response, name)


def broker_config(wire: Wire, address: Address, broker_id: int, name: str) -> ConfigEntry | None:
    """Return a config as one broker has it, default included; None when it is unknown there and not set.

    Raises BrokerCallError or RequestRefusedError.
    """
    return _entry(wire.call(address, _describe(_BROKER, [str(broker_id)], name)), name)


def write_cluster_default(wire: Wire, address: Address, name: str, value: str | None) -> None:
    """Set a config of the cluster default to the whole value, or delete it (None).

    Never SUBTRACT or APPEND: a broker refuses these for a config that it does not know.

    Raises BrokerCallError: then the outcome is unknown. RequestRefusedError: nothing was changed.
    """
    message = IncrementalAlterConfigsRequest
    resource = message.AlterConfigsResource
    config = resource.AlterableConfig(name=name, config_operation=_SET if value is not None else _DELETE, value=value)
    request = message(
        validate_only=False,
        resources=[resource(resource_type=_BROKER, resource_name=_CLUSTER_DEFAULT, configs=[config])],
    )
    for result in wire.call(address, request).responses:
        if result.error_code:
            raise error_codes.refusal("IncrementalAlterConfigs", result.error_code, result.error_message)


def _describe(resource_type: int, names: Sequence[str], config: str) -> DescribeConfigsRequest:
    message = DescribeConfigsRequest
    return message(
        resources=[
            message.DescribeConfigsResource(
                resource_type=resource_type, resource_name=each, configuration_keys=[config]
            )
            for each in names
        ]
    )


def _entry(response: Any, name: str) -> ConfigEntry | None:
    for result in response.results:
        if result.error_code:
            raise error_codes.refusal("DescribeConfigs", result.error_code, result.error_message)
        for config in result.configs:
            if config.name == name:
                return ConfigEntry(config.value, bool(config.is_sensitive))
    return None
