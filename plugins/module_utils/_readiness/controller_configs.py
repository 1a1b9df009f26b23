# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judge configs that brokers or controllers take from their own properties.

For a topic without its own value, the controller elects unclean by its own ``unclean.leader.election.enable``, and
keeps eligible leader replicas (KIP-966) by its own ``min.insync.replicas``. The topic's value that a broker returns
comes from the broker's properties. Pure; standard library only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from .._model.partition import MIN_ISR, UNCLEAN, grouped
from .._model.reasons import name_brokers, named
from .check import Check, CheckName, warning

CHECK_NAMES = {UNCLEAN: CheckName.UNCLEAN_ELECTION, MIN_ISR: CheckName.MIN_INSYNC_REPLICAS}
_EFFECTS = {
    UNCLEAN: "the active controller decides by its own value whether to elect without comparing logs",
    MIN_ISR: "the active controller decides by its own value which replicas stay eligible leaders (KIP-966)",
}


def judge_brokers(inherited: Collection[str], values: Mapping[int, int | None]) -> Iterator[Check]:
    """Yield a warning if brokers differ in min.insync.replicas for topics without their own value."""
    known = grouped((value, broker_id) for broker_id, value in values.items() if value is not None)
    if len(known) > 1:
        each_value = "; ".join(f"{value} on {name_brokers(brokers)}" for value, brokers in sorted(known.items()))
        yield warning(
            CheckName.MIN_INSYNC_REPLICAS,
            f"{MIN_ISR} of {_name_topics(inherited)} is that of the broker that leads: {each_value}. So whether "
            "records with acks=all are refused depends on the leader",
            _set_it(MIN_ISR),
        )


def judge_controllers(
    config: str, inherited: Mapping[str, str | None], values: Mapping[int, str | None], unknown: str
) -> Iterator[Check]:
    """Yield a warning if controllers have another value than topics seem to have, or if that is unknown.

    ``inherited`` are the values, by topic, that brokers return for topics without their own value. ``values`` are those
    of the controllers that answered, and ``unknown`` says why others did not.
    """
    if not inherited:
        return
    shown = {each for each in inherited.values() if each is not None}
    differing = {each: value for each, value in values.items() if value is not None and {value} != shown}
    set_it = _set_it(config)
    if differing:
        yield warning(
            CHECK_NAMES[config],
            f"{config} of {_name_topics(inherited)} is {_either(shown)} by the brokers' properties, and "
            f"{'; '.join(f'{value} on controller {each}' for each, value in sorted(differing.items()))}: "
            f"{_EFFECTS[config]}",
            set_it,
        )
    if unknown or not values:
        yield warning(
            CHECK_NAMES[config],
            f"the controllers' own {config} is unknown ({unknown or 'no controller answered'}). For "
            f"{_name_topics(inherited)}, {_EFFECTS[config]}",
            set_it if values else f"Set kafka_bootstrap_controllers, if this host can reach them. {set_it}",
        )


def _set_it(config: str) -> str:
    return f"Set {config} on the topics, or as cluster-wide default, or alike on all brokers and controllers"


def _name_topics(topics: Collection[str]) -> str:
    return named("topic", sorted(topics))


def _either(values: Collection[str]) -> str:
    return " or ".join(sorted(values)) or "unknown"
