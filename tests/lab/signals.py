# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Send a signal to one part of a playbook while a request of its module is in flight."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping

from kafka.protocol.api_key import ApiKey

from lab.cluster import Cluster
from lab.faults import Before
from lab.playbook import Part, part_of_playbook, start_playbook


def output_of_signalled(  # noqa: PLR0917
    cluster: Cluster,
    playbook: str,
    variables: Mapping[str, object],
    who: Part,
    number: signal.Signals,
    api_key: ApiKey,
    timeout: float = 120,
) -> str:
    """Run a playbook to its end, and signal a part of it before the first such request is forwarded."""
    process = start_playbook(playbook, variables)
    end = Before(lambda: os.kill(part_of_playbook(process.pid, who), number))
    with cluster.proxy.inject(end, api_key=api_key, times=1) as rule:
        output, _errors = process.communicate(timeout=timeout)
    assert rule.hits, output
    return output
