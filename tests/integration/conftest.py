# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What all tests on real brokers share: the Kafka versions to run on, and a home of their own for journals."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from lab import versions

_SHORT = {"kafka", "lab", "leadership"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--kafka-version",
        action="append",
        choices=versions.KAFKA,
        help=f"a Kafka version to test on; may be given several times (default: {versions.DEFAULT})",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kafka_version" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--kafka-version") or [versions.DEFAULT]
        if metafunc.definition.get_closest_marker("on_any_version"):
            chosen = chosen[:1]
        metafunc.parametrize("kafka_version", chosen, scope="session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the rooms with the longest tests first, so that no worker ends long after the others."""
    items.sort(key=lambda item: item.path.parent.name in _SHORT)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Side by side, a file's tests of one Kafka version go to one worker: they share a cluster."""
    return _ByFileAndVersion(config, log)


class _ByFileAndVersion(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        file, _separator, test = nodeid.partition("::")
        return f"{file} {next((each for each in versions.KAFKA if each in test), '')}"


@pytest.fixture(autouse=True)
def own_state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep journals of tests out of the user's own state directory."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
