# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kinds of fault, by the groups of the fault matrix. Each is one function of a scene."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from kafka.protocol.api_key import ApiKey

from campaign.incident import PARTITIONS, TOPIC
from campaign.scene import Scene
from lab import settings, wait_until
from lab.faults import (
    AbsurdLength,
    After,
    Before,
    Delay,
    DropAfterRequest,
    DropBeforeRequest,
    Fault,
    Rewrite,
    SwallowResponse,
    TruncateResponse,
    WrongCorrelationId,
)

_RUN_TOPIC = "_kafkaops_run"
_LATE_S = 8.0
"""Later than the request timeout of a run."""
_A_WHILE_S = 4.0
_QUOTA_PERCENT = 0.5
"""Of one request handler thread."""
_ELECT, _REORDER, _ASK = ApiKey.ElectLeaders, ApiKey.AlterPartitionReassignments, ApiKey.ListOffsets


@dataclass(frozen=True)
class Kind:
    """A kind of fault."""

    group: str
    """Of the fault matrix."""
    name: str
    begin: Callable[[Scene], object]
    """Called before the run begins; what it sets up happens then or later."""


def _gather() -> Iterator[tuple[str, Callable[[Scene], object]]]:
    def spoil(fault: Fault, scene: Scene) -> None:
        scene.spoil(fault, _ASK, broker=scene.incident.best)

    yield "the answer of the best replica is truncated", partial(spoil, TruncateResponse())
    yield "the answer of the best replica has a wrong correlation id", partial(spoil, WrongCorrelationId())
    yield "the answer of the best replica announces 2 GiB", partial(spoil, AbsurdLength())
    yield "the connection to the best replica is half open", partial(spoil, SwallowResponse())
    yield "the answer of the best replica leaves a partition out", partial(spoil, Rewrite(_leave_out))
    yield "the answer of the best replica names a partition twice", partial(spoil, Rewrite(_name_twice))
    yield "the answer of the best replica has an unknown error code", partial(spoil, Rewrite(_give_unknown_code))
    yield "the best replica is slow", lambda scene: scene.spoil(Delay(1.5), broker=scene.incident.best, times=6)
    yield "the best replica is killed during the gather", partial(_kill, "best", _ASK)
    yield "the other replica is killed during the gather", partial(_kill, "other", _ASK)
    yield "the best replica is frozen during the gather, for a while", _freeze_while_asked
    yield "the best replica is frozen during the whole run", _freeze_all_along
    yield "the best replica cannot be reached from here", _make_unreachable
    yield "at the best replica's address, another broker answers for a while", _swap_address
    yield "the best replica restarts during the gather", _restart_while_asked
    yield "a quota throttles every client", _throttle


def _leave_out(response: Any) -> None:
    response.topics[0].partitions.pop(0)


def _name_twice(response: Any) -> None:
    response.topics[0].partitions.append(response.topics[0].partitions[0])


def _give_unknown_code(response: Any) -> None:
    response.topics[0].partitions[0].error_code = 31999


def _kill(whom: str, api_key: ApiKey, scene: Scene) -> None:
    broker: int = getattr(scene.incident, whom)
    scene.silenced.add(broker)
    scene.at(Before, api_key, scene.cluster.brokers[broker].kill, broker=broker if api_key is _ASK else None)


def _freeze_while_asked(scene: Scene) -> None:
    best = scene.cluster.brokers[scene.incident.best]
    scene.at(Before, _ASK, lambda: scene.freeze_for(best, _A_WHILE_S), broker=best.node_id)


def _freeze_all_along(scene: Scene) -> None:
    scene.silenced.add(scene.incident.best)
    scene.now(scene.cluster.brokers[scene.incident.best].freeze)


def _make_unreachable(scene: Scene) -> None:
    scene.silenced.add(scene.incident.best)
    (listener,) = scene.cluster.brokers[scene.incident.best].proxies.values()
    scene.now(listener.close)
    scene.afterwards.append(listener.open)


def _swap_address(scene: Scene) -> None:
    brokers = scene.cluster.brokers
    (listener,) = brokers[scene.incident.best].proxies.values()
    own = listener.upstream
    listener.upstream = next(iter(brokers[scene.incident.other].proxies.values())).upstream

    def swap_back() -> None:
        listener.upstream = own

    scene.now(lambda: scene.later(_A_WHILE_S, swap_back))


def _restart_while_asked(scene: Scene) -> None:
    best = scene.cluster.brokers[scene.incident.best]

    def restart() -> None:
        best.kill()
        best.start(wait=False)

    scene.at(Before, _ASK, restart, broker=best.node_id)


def _throttle(scene: Scene) -> None:
    def alter(*arguments: str) -> None:
        scene.cluster.client.run_tool(
            "kafka.admin.ConfigCommand",
            *("--bootstrap-server", scene.cluster.bootstrap(settings.INTERNAL), "--alter"),
            *("--entity-type", "clients", "--entity-default", *arguments),
        ).check_returncode()

    scene.now(lambda: alter("--add-config", f"request_percentage={_QUOTA_PERCENT}"))
    scene.afterwards.append(lambda: alter("--delete-config", "request_percentage"))


def _disks() -> Iterator[tuple[str, Callable[[Scene], object]]]:
    yield "the disk of the other replica was replaced", partial(_replace_disk, "other")
    yield "the disk of the best replica was replaced", partial(_replace_disk, "best")


def _replace_disk(whose: str, scene: Scene) -> None:
    broker = scene.cluster.brokers[getattr(scene.incident, whose)]

    def replace() -> None:
        broker.kill()
        broker.wipe()
        broker.start()

    scene.now(replace)
    scene.incident.look_at_disks()


def _since_the_plan() -> Iterator[tuple[str, Callable[[Scene], object]]]:
    yield "the dead leader returns after the plan", _return_after_plan
    yield "the best replica restarts after the plan", _restart_after_plan
    yield "somebody else elects after the plan", _elect_after_plan
    yield "somebody else elects just before the reorder", partial(_elect_at, _REORDER)
    yield "the topic is created again after the plan", _replace_topic


def _return_after_plan(scene: Scene) -> None:
    dead = scene.cluster.brokers[scene.incident.dead]
    scene.has_other_elections = True
    scene.between(lambda: dead.start(wait=False))
    scene.afterwards.append(dead.wait_ready)


def _restart_after_plan(scene: Scene) -> None:
    best = scene.cluster.brokers[scene.incident.best]

    def restart() -> None:
        best.kill()
        best.start(wait=False)

    scene.between(restart)
    scene.afterwards.append(best.wait_ready)


def _elect_after_plan(scene: Scene) -> None:
    scene.has_other_elections = True
    scene.between(lambda: scene.cluster.client.elect_unclean(TOPIC, range(PARTITIONS)))


def _elect_at(api_key: ApiKey, scene: Scene) -> None:
    scene.has_other_elections = True
    scene.at(Before, api_key, lambda: scene.cluster.client.elect_unclean(TOPIC, range(PARTITIONS)))


def _replace_topic(scene: Scene) -> None:
    scene.is_topic_replaced = True

    def replace() -> None:
        scene.cluster.client.delete_topic(TOPIC)
        scene.cluster.client.create_topic(TOPIC, dict.fromkeys(range(PARTITIONS), scene.incident.replicas))

    scene.between(replace)


def _requests() -> Iterator[tuple[str, Callable[[Scene], object]]]:
    def spoil(fault: Fault, api_key: ApiKey, scene: Scene) -> None:
        scene.spoil(fault, api_key)

    late = Before(partial(time.sleep, _LATE_S))
    for what, api_key in (("election", _ELECT), ("reorder", _REORDER)):
        yield f"the request of the {what} is lost", partial(spoil, DropBeforeRequest(), api_key)
        yield f"the response of the {what} is lost", partial(spoil, DropAfterRequest(), api_key)
        yield f"the response of the {what} never comes", partial(spoil, SwallowResponse(), api_key)
        yield f"the {what} is carried out late", partial(spoil, late, api_key)
    yield "the best replica is killed just before the election", partial(_kill, "best", _ELECT)
    yield "the best replica is shut down just before the election", _shut_down_at_election
    yield "the active controller is killed just before the election", _kill_controller
    yield "the active controller is frozen for a while just before the reorder", _freeze_controller
    yield "the controllers have no majority for a while just before the election", _freeze_majority


def _shut_down_at_election(scene: Scene) -> None:
    scene.silenced.add(scene.incident.best)
    scene.at(Before, _ELECT, scene.cluster.brokers[scene.incident.best].stop)


def _kill_controller(scene: Scene) -> None:
    scene.at(Before, _ELECT, lambda: scene.active_controller().kill())


def _freeze_controller(scene: Scene) -> None:
    scene.at(Before, _REORDER, lambda: scene.freeze_for(scene.active_controller(), _LATE_S))


def _freeze_majority(scene: Scene) -> None:
    def freeze() -> None:
        active = scene.active_controller()
        follower = next(each for each in scene.cluster.controllers.values() if each is not active)
        for node in (follower, active):
            scene.freeze_for(node, _LATE_S)

    scene.at(Before, _ELECT, freeze)


def _own_end() -> Iterator[tuple[str, Callable[[Scene], object]]]:
    def end(number: signal.Signals, moment: type[Before] | type[After], api_key: ApiKey, scene: Scene) -> None:
        scene.at(moment, api_key, partial(scene.signal_run, number))

    yield "the run is killed after it created its journal", partial(end, signal.SIGKILL, After, ApiKey.CreateTopics)
    yield "the run is killed before the reorder", partial(end, signal.SIGKILL, Before, _REORDER)
    yield "the run is killed after the reorder", partial(end, signal.SIGKILL, After, _REORDER)
    yield "the run is killed after the election", partial(end, signal.SIGKILL, After, _ELECT)
    yield "the run is killed before it deletes its journal", partial(end, signal.SIGKILL, Before, ApiKey.DeleteTopics)
    yield "the run gets SIGTERM before the election", partial(end, signal.SIGTERM, Before, _ELECT)
    yield "the run is frozen before the election, replaced, and wakes up", _freeze_run


def _freeze_run(scene: Scene) -> None:
    scene.at(Before, _ELECT, partial(scene.signal_run, signal.SIGSTOP))


def _journal() -> Iterator[tuple[str, Callable[[Scene], object]]]:
    yield "the leader of the journal dies before the reorder", _kill_journals_leader
    yield "somebody deletes the journal before the election", _delete_journal


def _kill_journals_leader(scene: Scene) -> None:
    def kill() -> None:
        leader = scene.cluster.client.leader(_RUN_TOPIC)
        if leader is not None:
            scene.silenced.add(leader)
            scene.cluster.brokers[leader].kill()

    scene.at(Before, _REORDER, kill)


def _delete_journal(scene: Scene) -> None:
    scene.at(Before, _ELECT, lambda: scene.cluster.client.delete_topic(_RUN_TOPIC))


def _late() -> Iterator[tuple[str, Callable[[Scene], object]]]:
    yield "the best replica answers only after a while", _thaw_late


def _thaw_late(scene: Scene) -> None:
    best = scene.cluster.brokers[scene.incident.best]
    scene.now(lambda: scene.freeze_for(best, 6.0))
    wait_until(lambda: best.frozen, what="it is frozen")


KINDS = tuple(
    Kind(group, name, begin)
    for group, table in (
        ("C", _gather),
        ("D", _disks),
        ("E", _since_the_plan),
        ("F", _requests),
        ("G", _own_end),
        ("H", _journal),
        ("I", _late),
    )
    for name, begin in table()
)
