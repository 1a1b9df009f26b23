# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Recover a cluster by the playbook."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import Cluster
from lab.recovery import Recovery


@pytest.fixture
def recovery(cluster: Cluster, tmp_path: Path) -> Recovery:
    """Return the playbook."""
    return Recovery(cluster, tmp_path)
