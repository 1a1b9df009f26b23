# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the controllers' own listeners, and read what only the controllers know.

The operator may name the controllers. Otherwise the brokers do, by their own configs. Those addresses are only used if
the controllers' listeners have the security protocol of this run's connections: nothing is sent or read with less
protection than the operator chose. And they are only used if they lead to controllers of the same cluster: a name such
as localhost means another host here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .._model.partition import Cause
from . import quorum
from .cluster import describe_cluster
from .configs import broker_config
from .errors import BrokerCallError, CallError, RequestRefusedError
from .settings import Address
from .wire import Wire

REACH_MS = 3000
"""How long a controller that only the brokers name may take to answer. Packet filters often drop what comes for it."""
_VOTERS_MS = 5000
_NAME_THEM = "set kafka_bootstrap_controllers"
_ANOTHER = "another"
"""Stands for the id of a cluster that was not named."""


@dataclass(frozen=True, slots=True)
class ControllerSide:
    """The controllers' own listeners, as far as they are known."""

    wire: Wire
    """Has the settings for these listeners."""
    addresses: tuple[Address, ...]
    """Those that the operator named, or else those that brokers name and that answer here."""
    missing: str = ""
    """Why there are no addresses, and what to do. Empty if there are some."""
    silent: Mapping[Address, BrokerCallError] = field(default_factory=dict)
    """The listeners that brokers name and at which nobody answers, and why."""


@dataclass(frozen=True, slots=True)
class ControllerConfigs:
    """One config of the controllers, from their own properties and dynamic configs."""

    values: Mapping[int, str | None]
    """By controller id."""
    unknown: str
    """Why the value of a controller is not known. Empty if all that can become active answered."""


def find_controllers(wire: Wire) -> ControllerSide:
    """Return the listeners that the operator named, or else those that brokers name and that can be reached from here.

    What brokers name are controller.quorum.bootstrap.servers or controller.quorum.voters; to read them needs
    DESCRIBE_CONFIGS on the cluster. Takes at most ``REACH_MS`` longer than the brokers' answers. Never raises.
    """
    if wire.controllers.addresses:
        return ControllerSide(wire.controller_side, wire.controllers.addresses)
    try:
        cluster = describe_cluster(wire, any_view=True)
        answer, _broker = wire.call_any(lambda: quorum.configs_request(cluster.addresses), "DescribeConfigs")
    except CallError as error:
        return ControllerSide(wire, (), f"no broker says where the controllers are ({error}): {_NAME_THEM}")
    return reach_controllers(wire, quorum.configs(answer), cluster.cluster_id)


def reach_controllers(wire: Wire, named: quorum.QuorumConfigs | None, cluster_id: str) -> ControllerSide:
    """Return the controllers that a broker's configs name, as far as they can be reached from here. Never raises."""
    if named is None or not named.controllers:
        missing = f"the configs of the brokers do not say where the controllers are (DESCRIBE_CONFIGS): {_NAME_THEM}"
        return ControllerSide(wire, (), missing)
    protocol = wire.settings.security_protocol
    if named.controller_protocol != protocol:
        missing = (
            f"the security protocol of the controllers' listeners is {named.controller_protocol or 'unknown'}, and "
            f"that of this run's connections is {protocol}: {_NAME_THEM} and kafka_controllers_command_config"
        )
        return ControllerSide(wire, (), missing)

    def ask(address: Address) -> str:
        try:
            answer = wire.call(address, quorum.controllers_request(), timeout_ms=REACH_MS)
            return quorum.controllers(answer).cluster_id
        except RequestRefusedError as error:
            answer = wire.call(address, quorum.known_leader_request(cluster_id), timeout_ms=REACH_MS)
            is_same = quorum.is_of_cluster(answer)
            if is_same is None:
                raise BrokerCallError(str(address), Cause.NOT_AUTHORIZED, str(error)) from None
            return cluster_id if is_same else _ANOTHER

    answers = wire.in_parallel(ask, dict.fromkeys(named.controllers))
    silent = {address: found for address, found in answers.items() if isinstance(found, BrokerCallError)}
    reached = tuple(address for address, found in answers.items() if found == cluster_id)
    if reached:
        return ControllerSide(wire, reached, silent=silent)
    others = [f"{address}: it belongs to cluster {answers[address]}" for address in answers.keys() - silent.keys()]
    why = "; ".join([*map(str, silent.values()), *sorted(others)])
    return ControllerSide(wire, (), f"no controller that the brokers name answers here ({why}): {_NAME_THEM}", silent)


def controller_configs(wire: Wire, side: ControllerSide, name: str) -> ControllerConfigs:
    """Ask each voter on its own listener for the effective value of a config (KIP-919; Kafka 3.7).

    A controller decides by its own properties, which no broker returns. A removed controller never decides, and stays
    registered, whether it runs or not. If the voters are unknown, all registered controllers are asked.

    Needs DESCRIBE_CONFIGS on the cluster.
    """
    problems = [side.missing] if side.missing else []
    listed: Mapping[int, Address] = {}
    for address in side.addresses:
        try:
            listed = quorum.controllers(side.wire.call(address, quorum.controllers_request())).addresses
            break
        except CallError as error:
            problems.append(f"controller at {address}: {error}")
    else:
        return ControllerConfigs({}, "; ".join(problems))
    voters = _find_voters(wire) or listed.keys()

    def ask(controller_id: int) -> str | CallError | None:
        try:
            entry = broker_config(side.wire, listed[controller_id], controller_id, name)
        except CallError as error:
            return error
        return entry.value if entry else None

    answers = side.wire.in_parallel(ask, [each for each in sorted(listed) if each in voters])
    values = {each: value for each, value in answers.items() if not isinstance(value, CallError)}
    problems = [f"controller {each}: {value}" for each, value in answers.items() if isinstance(value, CallError)]
    return ControllerConfigs(values, "; ".join(problems))


def _find_voters(wire: Wire) -> frozenset[int]:
    """Return the voters of the quorum; empty if they cannot be read. Needs DESCRIBE on the cluster."""
    try:
        answer, _source = wire.call_any(quorum.describe_quorum_request, "DescribeQuorum", timeout_ms=_VOTERS_MS)
        state = quorum.quorum_state(answer)
    except CallError:
        return frozenset()
    return frozenset(each.replica_id for each in state.voters) if state is not None else frozenset()
