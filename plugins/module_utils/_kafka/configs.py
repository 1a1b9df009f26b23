# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read and write configs of topics, brokers and the cluster default.

DescribeConfigs has API key 32, IncrementalAlterConfigs 44. The resource of the cluster default is a broker with an
empty name. A broker's own configs are read from and written to that broker: only it can validate them. Reads lag writes
by some milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from .._model import retention
from .._model.partition import Cause, in_batches
from .._model.retention import Retention
from .._model.setting import BROKER_RESOURCE, TOPIC_RESOURCE, Setting, SettingSource, number_of
from . import error_codes
from .errors import BrokerCallError, CallError, NoBrokerAnswersError, RequestRefusedError
from .messages import describe_configs_request
from .settings import Address
from .wire import Wire

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.admin import IncrementalAlterConfigsRequest


_SET_ON_TOPIC = 1
_SET_ON_BROKER = 2
_SOURCES = {
    _SET_ON_TOPIC: SettingSource.BROKER,
    _SET_ON_BROKER: SettingSource.BROKER,
    3: SettingSource.CLUSTER,
    4: SettingSource.STATIC,
    5: SettingSource.DEFAULT,
}
"""By DescribeConfigs' config_source. A value that is set on the topic itself has the same source as on a broker."""
_TOPICS_PER_REQUEST = 1000
_CLUSTER_DEFAULT = ""
_SET = 0
_DELETE = 1


def topic_configs(wire: Wire, topics: Sequence[str], name: str, address: Address | None = None) -> dict[str, Setting]:
    """Return one config of each topic, as one broker has it. Without an address, that is any broker.

    A value that is not the topic's own is that of the broker that was asked, or Kafka's default. Topics that do not
    exist or are hidden from our principal are left out.

    Raises BrokerCallError (NoBrokerAnswersError without an address) or RequestRefusedError.
    """
    found = {}
    for some in in_batches(topics, _TOPICS_PER_REQUEST):
        response = _ask(wire, address, partial(describe_configs_request, TOPIC_RESOURCE, some, [name]))
        for result in response.results:
            for config in result.configs:
                if not result.error_code and config.name == name:
                    found[result.resource_name] = _setting(TOPIC_RESOURCE, config)
    return found


def read_retentions(wire: Wire, topics: Collection[str]) -> dict[str, Retention]:
    """Return how each topic deletes old records. A topic is missing if its configs cannot be read."""
    names = sorted(topics)
    try:
        found = [topic_configs(wire, names, each) for each in (retention.POLICY, retention.BYTES, retention.MS)]
    except (NoBrokerAnswersError, RequestRefusedError):
        return {}
    values = {topic: [each[topic].value if topic in each else None for each in found] for topic in names}
    known = {topic: Retention.from_configs(*each) for topic, each in values.items()}
    return {topic: each for topic, each in known.items() if each is not None}


def cluster_default(wire: Wire, name: str) -> Setting | None:
    """Return a config of the cluster default. None if it is not set.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    response, _source = wire.call_current(
        partial(describe_configs_request, BROKER_RESOURCE, [_CLUSTER_DEFAULT], [name]), "DescribeConfigs"
    )
    return _settings(BROKER_RESOURCE, response, [name]).get(name)


def broker_config(wire: Wire, address: Address, broker_id: int, name: str) -> Setting | None:
    """Return the effective value of a broker's config. None if the broker does not know it and it is not set.

    Raises BrokerCallError or RequestRefusedError.
    """
    request = describe_configs_request(BROKER_RESOURCE, [str(broker_id)], [name])
    return _settings(BROKER_RESOURCE, wire.call(address, request), [name]).get(name)


def broker_numbers(wire: Wire, addresses: Mapping[int, Address], name: str) -> list[int | None]:
    """Return the effective number that each broker has for one config. None for one that does not say it.

    The brokers are asked in parallel.
    """

    def ask(broker_id: int) -> int | None:
        try:
            return number_of(broker_config(wire, addresses[broker_id], broker_id, name))
        except RequestRefusedError:
            return None

    return [each if isinstance(each, int) else None for each in wire.in_parallel(ask, addresses).values()]


def read_configs(
    wire: Wire, address: Address | None, kind: int, resource: str, names: Sequence[str]
) -> dict[str, Setting]:
    """Return these configs of a broker or a topic, with their sources.

    A config that the broker does not know and that is not set is left out. For a topic ``address`` may be None: then
    any broker is asked.

    Raises BrokerCallError (NoBrokerAnswersError without an address), also if this broker applies metadata late, or
    RequestRefusedError.
    """
    if address is not None:
        _require_current(address, wire.views.find_late(wire, [address]))
    return _settings(kind, _ask(wire, address, partial(describe_configs_request, kind, [resource], names)), names)


def read_broker_configs(
    wire: Wire, addresses: Mapping[int, Address], names: Sequence[str]
) -> dict[int, dict[str, Setting] | CallError]:
    """Return these configs of each broker, as ``read_configs`` does, or why the broker did not return them.

    All brokers are asked in parallel, and their metadata is checked together.
    """
    late = wire.views.find_late(wire, {*addresses.values()})

    def read(broker_id: int) -> dict[str, Setting] | CallError:
        address = addresses[broker_id]
        try:
            _require_current(address, late)
            request = describe_configs_request(BROKER_RESOURCE, [str(broker_id)], names)
            return _settings(BROKER_RESOURCE, wire.call(address, request), names)
        except CallError as error:
            return error

    return wire.in_parallel(read, addresses)


def _settings(kind: int, response: Any, names: Sequence[str]) -> dict[str, Setting]:
    return {config.name: _setting(kind, config) for config in _list_configs(response) if config.name in names}


def _setting(kind: int, config: Any) -> Setting:
    source = _SOURCES.get(config.config_source, SettingSource.OTHER)
    # What is set on the broker that was asked is not the topic's own.
    is_inherited = kind == TOPIC_RESOURCE and config.config_source == _SET_ON_BROKER
    return Setting(config.value, SettingSource.OTHER if is_inherited else source, bool(config.is_sensitive))


def write_configs(wire: Wire, address: Address, kind: int, resource: str, edits: Mapping[str, str | None]) -> None:
    """Set configs of a broker or a topic, or delete them (None): all or none.

    Each gets its whole value (SET). A broker refuses APPEND and SUBTRACT for a config that it does not know.

    Raises BrokerCallError: the outcome is unknown. RequestRefusedError: nothing was changed.
    """
    message = IncrementalAlterConfigsRequest
    resource_message = message.AlterConfigsResource
    request = message(
        validate_only=False,
        resources=[
            resource_message(
                resource_type=kind,
                resource_name=resource,
                configs=[
                    resource_message.AlterableConfig(
                        name=name, config_operation=_DELETE if value is None else _SET, value=value
                    )
                    for name, value in edits.items()
                ],
            )
        ],
    )
    for result in wire.call(address, request).responses:
        error_codes.raise_if_refused("IncrementalAlterConfigs", result)


def write_cluster_default(wire: Wire, address: Address, name: str, value: str | None) -> None:
    """Set a config of the cluster default, or delete it (None). Raises as ``write_configs`` does."""
    write_configs(wire, address, BROKER_RESOURCE, _CLUSTER_DEFAULT, {name: value})


def _require_current(address: Address, late: Mapping[Address, str]) -> None:
    """Raise BrokerCallError if a broker is ``late``: a setting that another party has set is missing there.

    Such a broker would also show our own change late. So what it answers must neither be restored nor compared.
    """
    if lacks := late.get(address):
        raise BrokerCallError(
            str(address),
            Cause.ERROR,
            f"this broker applies metadata late, so its own settings are not known: {lacks}",
            request="DescribeConfigs",
        )


def _ask(wire: Wire, address: Address | None, describe: Callable[[], Any]) -> Any:
    """Return the answer of this broker, or of any broker with current metadata."""
    return wire.call_current(describe, "DescribeConfigs")[0] if address is None else wire.call(address, describe())


def _list_configs(response: Any) -> list[Any]:
    """Return the configs of all resources of an answer. Raises RequestRefusedError if one was refused."""
    for result in response.results:
        error_codes.raise_if_refused("DescribeConfigs", result)
    return [config for result in response.results for config in result.configs]
