# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What all tests on real brokers share: the Kafka versions, the clusters, the operator, a home for journals."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from integration.on_call import OnCall
from lab import Cluster, versions
from lab.pool import STANDARD, ClusterPool

_SHORT = {"kafka", "lab"}
"""Directories whose tests come last, so that no worker ends long after the others."""
_OF_ONE_WORKER = {"salvage"}
"""Directories whose tests share one cluster that takes long to prepare. They come first, for the same reason."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--kafka-version",
        action="append",
        choices=versions.KAFKA,
        help=f"a Kafka version to test on; may be given several times (default: {versions.DEFAULT})",
    )
    parser.addoption("--wide", action="store_true", help="also run what only `make test-all` runs (docs/testing.md)")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kafka_version" in metafunc.fixturenames:
        chosen = _versions(metafunc.config)
        if metafunc.definition.get_closest_marker("on_any_version"):
            chosen = chosen[:1]
        metafunc.parametrize("kafka_version", chosen, scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: (item.path.parent.name in _SHORT) - (item.path.parent.name in _OF_ONE_WORKER))
    left_out = {item for item in items if _lacks_elr(item)}
    if not config.getoption("--wide"):
        others = _versions(config)[1:]
        left_out |= {item for item in items if _is_only_wide(item, others)}
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=[*left_out])


def _versions(config: pytest.Config) -> list[str]:
    return config.getoption("--kafka-version") or [versions.DEFAULT]


def _is_only_wide(item: pytest.Item, other_versions: list[str]) -> bool:
    """Return whether a test is marked wide, or is for another version than the first and need not run on each."""
    if item.get_closest_marker("wide"):
        return True
    is_on_another = _version_of(item) in other_versions
    return is_on_another and item.get_closest_marker("on_every_version") is None


def _version_of(item: pytest.Item) -> str | None:
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return parameters.get("kafka_version")


def _lacks_elr(item: pytest.Item) -> bool:
    """Return whether a test of eligible leader replicas (KIP-966) is for a version that has none."""
    version = _version_of(item)
    return version is not None and bool(item.get_closest_marker("needs_elr")) and not versions.has_elr(version)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    return _ByCluster(config, log)


class _ByCluster(LoadScopeScheduling):
    """A file's tests of one Kafka version go to one worker, and a worker stays with the clusters that it has.

    The tests of a directory use the same specification, so the pool hands out again what is up. The few tests of
    another version than the first are one worker's: directories share their clusters.
    """

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        super().__init__(config, log)
        self._first_version = _versions(config)[0]
        self._kinds: dict[WorkerController, str] = {}

    def _split_scope(self, nodeid: str) -> str:
        file, _separator, test = nodeid.partition("::")
        directory = Path(file).parent
        place = f"{directory}/" if directory.name in _OF_ONE_WORKER else file
        return f"{place} {next((each for each in versions.KAFKA if each in test), '')}"

    def _assign_work_unit(self, node: WorkerController) -> None:
        mine = self._kinds.get(node)
        others = {kind for worker, kind in self._kinds.items() if worker is not node}
        waiting = [*self.workqueue]
        scope = next(
            (each for each in waiting if self._kind(each) == mine),
            next((each for each in waiting if self._kind(each) not in others), waiting[0]),
        )
        self._kinds[node] = self._kind(scope)
        self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)

    def _kind(self, scope: str) -> str:
        file, _separator, version = scope.partition(" ")
        directory = os.path.dirname(file)
        return version if version not in {"", self._first_version} else f"{directory} {version}"


@pytest.fixture(autouse=True)
def own_state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep journals of tests out of the user's own state directory."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(scope="session")
def clusters() -> Iterator[ClusterPool]:
    """Return the clusters of this process, shared by all files."""
    with ClusterPool() as pool:
        yield pool


@pytest.fixture
def cluster(clusters: ClusterPool, kafka_version: str) -> Iterator[Cluster]:
    """Return a healthy cluster without topics, whatever an earlier test did to it."""
    with clusters.lease(STANDARD, kafka_version) as cluster:
        yield cluster


@pytest.fixture
def on_call(cluster: Cluster, tmp_path: Path) -> OnCall:
    """Return the operations, in this process: for tests to which the playbook adds nothing."""
    return OnCall(cluster, tmp_path)
