# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A real quorum, observed with the tested code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.client_configs import CLIENT_ID
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import (
    ControllerListeners,
    parse_addresses,
    settings_from,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.assessment import Assessment, assess
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.finding import Finding, FindingKind
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.observe import observe_quorum
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.verdict import is_settled
from lab import wait_until
from lab.quorum import QuorumCluster
from lab.request import Request

LIMIT_MS = 3000
CHECK = "kafkaops.recovery.check_quorum"
VOTERS = (101, 102, 103)
ONLY_STATIC = pytest.mark.parametrize("cluster", [False], indirect=True, ids=["static"], scope="module")
ONLY_DYNAMIC = pytest.mark.parametrize("cluster", [True], indirect=True, ids=["dynamic"], scope="module")
_WITHIN_S = 60.0


class Quorum:
    """Three controllers and one broker."""

    def __init__(self, cluster: QuorumCluster) -> None:
        self.cluster = cluster

    def wire(self, controllers: str = "") -> Wire:
        """Connect to the broker, and to the controllers at these addresses."""
        settings = settings_from({"bootstrap_servers": self.cluster.bootstrap(), "request_timeout_ms": LIMIT_MS})
        return Wire(settings, ControllerListeners(tuple(parse_addresses(controllers) if controllers else ())))

    def look(self, window_ms: int = 0, *, controllers: bool = True) -> Assessment:
        """Assess the quorum. Without ``controllers``, ask the broker only."""
        return self._look_at(self.cluster.controllers_at() if controllers else "", window_ms)

    def _look_at(self, addresses: str, window_ms: int) -> Assessment:
        with self.wire(addresses) as wire:
            return assess(observe_quorum(wire, window_ms=window_ms))

    def is_settled(self) -> bool:
        """Observe the quorum as a module does that writes, and return whether it may end before its window."""
        with self.wire(self.cluster.controllers_at()) as wire:
            return is_settled(observe_quorum(wire, window_ms=LIMIT_MS, is_enough=is_settled))

    def watch(self, executor: Executor, window_ms: int, *, controllers: bool = False) -> Future[Assessment]:
        """Start to observe the quorum for a window, and return when the second look has begun.

        Controllers are asked through their proxies, which see requests. One that is cut off is asked at its own port.
        """
        asked = len(self._descriptions())
        cluster = self.cluster
        addresses = [
            cluster.controllers_at(each) if cluster.is_cut_off(each) else cluster.advertised_controller(each)
            for each in (VOTERS if controllers else ())
        ]
        watching = executor.submit(self._look_at, ",".join(addresses), window_ms)
        wait_until(lambda: len(self._descriptions()) >= asked + 2, what="the window's second look")
        return watching

    def look_until(self, holds: Callable[[Assessment], object], what: str, *, controllers: bool = True) -> Assessment:
        """Look until a condition holds, and return this look."""

        looks: list[Assessment] = []

        def is_reached() -> bool:
            looks.append(self.look(controllers=controllers))
            return bool(holds(looks[-1]))

        try:
            wait_until(is_reached, _WITHIN_S, what=what)
        except TimeoutError as error:
            raise AssertionError(f"{error} Last look: {looks[-1]}") from None
        return looks[-1]

    def wait_for(self, kind: FindingKind, node_id: int) -> tuple[Assessment, Finding]:
        """Look until there is a finding of a kind about a controller. Returns the look and the finding."""
        if kind is not FindingKind.EPOCH_AHEAD:  # Ask the broker first: it does not wait for a silent controller.
            self.look_until(lambda seen: found(seen, kind, node_id), f"{kind.value} of {node_id}", controllers=False)
        seen = self.look_until(lambda seen: found(seen, kind, node_id), f"{kind.value} of {node_id}")
        finding = found(seen, kind, node_id)
        assert finding is not None
        return seen, finding

    def wait_for_pre_votes(self, node_id: int) -> None:
        """Wait until the log of a controller that is cut off shows two more requests for pre-votes."""
        log = self.cluster.controllers[node_id].log_path

        def asked() -> int:
            return log.read_text(errors="replace").count("to ProspectiveState(")

        before = asked()
        wait_until(lambda: asked() >= before + 2, _WITHIN_S, what=f"controller {node_id} asks for pre-votes twice")

    def asked(self) -> list[Request]:
        """Return the requests to the broker and the controllers since the proxies were cleared."""
        return [
            each
            for each in self.cluster.proxy.requests()
            if each.broker in self.cluster.brokers or each.client_id == CLIENT_ID
        ]

    def _descriptions(self) -> list[Request]:
        return [each for each in self.asked() if each.api_key == ApiKey.DescribeQuorum]

    def variables(self) -> dict[str, object]:
        """Return the role variables to reach the quorum."""
        return {
            "kafka_bootstrap_servers": self.cluster.bootstrap(),
            "kafka_bootstrap_controllers": self.cluster.controllers_at(),
            "kafka_request_timeout_ms": LIMIT_MS,
        }

    @contextmanager
    def frozen(self, node_id: int) -> Iterator[None]:
        """Freeze a controller: it keeps its connections and answers nothing."""
        self.cluster.controllers[node_id].freeze()
        try:
            yield
        finally:
            self.cluster.controllers[node_id].thaw()

    @contextmanager
    def killed(self, *node_ids: int) -> Iterator[None]:
        """Kill controllers, and start them again afterwards."""
        controllers = [self.cluster.controllers[node_id] for node_id in node_ids]
        for controller in controllers:
            controller.kill()
        try:
            yield
        finally:
            for controller in controllers:
                controller.start(wait=False)
            for controller in controllers:
                controller.wait_ready()

    def replace_disk(self, node_id: int) -> None:
        """Kill a controller and start it again with an empty disk."""
        controller = self.cluster.controllers[node_id]
        controller.kill()
        controller.wipe()
        controller.start()

    def leader(self) -> int:
        leader = self.look().leader_id
        assert leader is not None
        return leader

    def followers(self) -> list[int]:
        leader = self.leader()
        return [each for each in VOTERS if each != leader]

    def wait_healthy(self) -> Assessment:
        """Wait until all three controllers answer and are caught up, and nothing but a missing Pre-Vote is found."""
        return self.look_until(
            lambda seen: (
                len(seen.voters) == len(VOTERS)
                and kinds(seen) <= {FindingKind.PRE_VOTE_MISSING}
                and all(each.is_caught_up for each in seen.voters)
                and {each.node_id for each in seen.controllers} == set(VOTERS)
            ),
            "a healthy quorum",
        )


def kinds(seen: Assessment) -> set[FindingKind]:
    return {each.kind for each in seen.findings}


def found(seen: Assessment, kind: FindingKind, node_id: int) -> Finding | None:
    return next((each for each in seen.findings if each.kind is kind and node_id in each.node_ids), None)
