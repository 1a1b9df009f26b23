# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One cluster that has lost records, for the tests of salvage and replay."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from integration.salvage.oracle import Oracle
from integration.salvage.wreck import PATIENT, PROPERTIES, wreck
from lab import Cluster


@pytest.fixture(scope="package")
def oracle(kafka_version: str) -> Iterator[Oracle]:
    """Yield the oracle of a cluster whose broker 1 is dead and is the only one with the lost records."""
    with Cluster(kafka_version, log_dirs=2, properties=PROPERTIES, controller_properties=PATIENT) as started:
        yield wreck(started)
