# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What all tests on real brokers share: the Kafka versions to run on, and a home of their own for journals."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    """Side by side, a file's tests of one Kafka version go to one worker: they share a cluster.

    The rooms with the longest tests come first, so that no worker ends long after the other.
    """
    items.sort(key=lambda item: item.path.parent.name in _SHORT)
    for item in items:
        callspec = getattr(item, "callspec", None)
        version = callspec.params.get("kafka_version", "") if callspec is not None else ""
        item.add_marker(pytest.mark.xdist_group(f"{item.path.stem}-{version}"))


@pytest.fixture(autouse=True)
def own_state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep journals of tests out of the user's own state directory."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
