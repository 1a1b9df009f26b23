# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Many replicas are asked in several processes."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_this_host import processes_for


@pytest.mark.parametrize(("replicas", "processes"), [(0, 1), (99_999, 1), (100_000, 2)])
def test_many_replicas_are_asked_in_several_processes(replicas: int, processes: int) -> None:
    assert processes_for(replicas, cores=8) == processes


@pytest.mark.parametrize(("cores", "processes"), [(None, 1), (1, 1), (2, 2), (64, 4)])
def test_a_process_uses_one_core(cores: int | None, processes: int) -> None:
    assert processes_for(1_000_000, cores) == processes
