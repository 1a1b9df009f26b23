# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that is wrong with a quorum. Pure; standard library only."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.disruption import disruption
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.finding import Finding, Severity
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.liveness import liveness
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.observation import Observation
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.shape import shape

_ORDER = list(Severity)


def findings(observation: Observation) -> tuple[Finding, ...]:
    """All findings, the most severe first; empty for a healthy quorum."""
    found = [*liveness(observation), *disruption(observation)]
    found += shape(observation, found)
    return tuple(sorted(found, key=lambda each: _ORDER.index(each.severity)))
