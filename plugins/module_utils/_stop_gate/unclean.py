# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the controller may elect a replica that is not in sync, and where that is not known. Sends no write request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .._kafka.port import Kafka
from .._model.partition import UNCLEAN, PartitionState
from .._model.reasons import name_partitions


@dataclass(frozen=True, slots=True)
class UncleanConfigs:
    """unclean.leader.election.enable by topic."""

    values: Mapping[str, bool]
    """A topic is missing if its config could not be read. What a controller may set to true is true."""
    inherited: frozenset[str]
    """The topics without a value of their own."""
    unknown: str = ""
    """Why the value of a controller is not known. Empty if each answered."""

    def doubt(self, leaderless: Iterable[PartitionState]) -> list[str]:
        """Return a note about partitions that would have no leader if no controller's own value is true."""
        doubtful = sorted({each for each in leaderless if each.topic in self.inherited})
        if not self.unknown or not doubtful:
            return []
        return [
            f"whether the controllers' own properties set {UNCLEAN} to true is unknown: {self.unknown}. If they do, "
            f"these would get a leader that is not in sync, where one is up: {name_partitions(doubtful)}"
        ]


def read_unclean(kafka: Kafka, topics: Sequence[str]) -> UncleanConfigs:
    """Read the config of each topic.

    For a topic without its own value, the active controller decides by its own properties, which no broker returns. If
    the controllers can be asked and differ, any of them may be the active one.
    """
    found = kafka.topic_configs(topics, UNCLEAN)
    values = {topic: each.value == "true" for topic, each in found.items() if each.value is not None}
    inherited = frozenset(topic for topic, each in found.items() if not each.is_own)
    if not inherited:
        return UncleanConfigs(values, inherited)
    asked = kafka.controller_configs(UNCLEAN)
    own = {*asked.values.values()} - {None}
    if own:
        values |= dict.fromkeys(inherited, "true" in own)
    return UncleanConfigs(values, inherited, asked.unknown)
