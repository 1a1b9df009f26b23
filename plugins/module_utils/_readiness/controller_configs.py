# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judge configs that the controller resolves from its own properties, and that no broker returns.

For a topic without its own value, the controller elects unclean by its own ``unclean.leader.election.enable``, and
keeps eligible leader replicas (KIP-966) by its own ``min.insync.replicas``. The topic's value that a broker returns
comes from the broker's properties. Pure; standard library only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from .._model.reasons import join_first
from .check import Check, CheckName, warning

UNCLEAN = "unclean.leader.election.enable"
MIN_ISR = "min.insync.replicas"
CHECK_NAMES = {UNCLEAN: CheckName.UNCLEAN_ELECTION, MIN_ISR: CheckName.MIN_INSYNC_REPLICAS}
_EFFECTS = {
    UNCLEAN: "the active controller decides by its own value whether to elect without comparing logs",
    MIN_ISR: "the active controller decides by its own value which replicas stay eligible leaders (KIP-966)",
}


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
    set_it = f"Set {config} on the topics, or as cluster-wide default, or alike on all brokers and controllers"
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


def _name_topics(topics: Collection[str]) -> str:
    return f"{'topic' if len(topics) == 1 else 'topics'} {join_first(sorted(topics))}"


def _either(values: Collection[str]) -> str:
    return " or ".join(sorted(values)) or "unknown"
