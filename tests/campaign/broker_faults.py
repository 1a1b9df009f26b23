# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults of brokers and disks before and during the gather, and late ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from kafka.protocol.api_key import ApiKey

from campaign.incident import TOPIC
from campaign.scene import Scene
from lab import settings, wait_until
from lab.cut_off import Cable
from lab.faults import (
    AbsurdLength,
    Before,
    Delay,
    Fault,
    Rewrite,
    SwallowResponse,
    TruncateResponse,
    WrongCorrelationId,
)

Named = tuple[str, Callable[[Scene], object]]
"""A kind of fault: its name, and the function that is called before the run begins."""
_A_WHILE_S = 4.0
_WITHOUT_AUTHENTICATION = "PLAINTEXT"
_QUOTA_PERCENT = 0.5
"""Percent of one request handler thread."""
_ASK = ApiKey.ListOffsets


def while_asked() -> Iterator[Named]:
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
    yield "the best replica is killed during the gather", partial(kill, "best", _ASK)
    yield "the other replica is killed during the gather", partial(kill, "other", _ASK)
    yield "the best replica is frozen during the gather, for a while", _freeze_while_asked
    yield "the best replica is frozen during the whole run", _freeze_all_along
    yield "the best replica cannot be reached from here", _make_unreachable
    yield "at the best replica's address, another broker answers for a while", _swap_address
    yield "the best replica restarts during the gather", _restart_while_asked
    yield "a quota throttles every client", _throttle
    yield "a log directory of the best replica is offline", lambda scene: scene.now(partial(unmount, scene))


def _leave_out(response: Any) -> None:
    response.topics[0].partitions.pop(0)


def _name_twice(response: Any) -> None:
    response.topics[0].partitions.append(response.topics[0].partitions[0])


def _give_unknown_code(response: Any) -> None:
    response.topics[0].partitions[0].error_code = 31999


def kill(whom: str, api_key: ApiKey, scene: Scene) -> None:
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
    for listener in scene.cluster.brokers[scene.incident.best].proxies.values():
        scene.now(listener.close)
        scene.afterwards.append(listener.open)


def _swap_address(scene: Scene) -> None:
    brokers = scene.cluster.brokers
    listener, another = (
        brokers[each].proxies[_WITHOUT_AUTHENTICATION] for each in (scene.incident.best, scene.incident.other)
    )
    own, listener.upstream = listener.upstream, another.upstream

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


def disks() -> Iterator[Named]:
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


def unmount(scene: Scene) -> None:
    """Move a log directory away: the broker fails to write a checkpoint there, and takes it offline."""
    incident, best = scene.incident, scene.cluster.brokers[scene.incident.best]
    lost = best.data_dirs[-1]  # not the first one: it has the metadata log, without which a broker halts
    on_it = {int(each.name.rpartition("-")[2]) for each in lost.glob(f"{TOPIC}-[0-9]")}
    moved = lost.with_name(f"{lost.name}-moved")
    lost.rename(moved)
    scene.offline_logs.update((best.node_id, each) for each in on_it)

    def is_offline() -> bool:
        states = scene.cluster.client.describe(TOPIC, broker=incident.witness)
        return all(best.node_id in states[each].offline_replicas for each in on_it)

    def mount() -> None:
        best.kill()
        moved.rename(lost)
        best.start()

    scene.afterwards.append(mount)
    wait_until(is_offline, 60, what=f"replicas {sorted(on_it)} of {best!r} are offline")


def stale() -> Iterator[Named]:
    yield (
        "the best replica's broker is cut off from the controllers",
        lambda scene: _cut_off(scene.incident.best, scene),
    )
    yield (
        "a broker without a replica is cut off from the controllers",
        lambda scene: _cut_off(scene.incident.witness, scene),
    )


def _cut_off(broker: int, scene: Scene) -> None:
    cable = Cable(scene.cluster.brokers[broker], scene.cluster.brokers[scene.incident.other])
    cable.prepare()
    scene.silenced.add(broker)
    scene.now(cable.cut)
    scene.afterwards.append(cable.reconnect)


def late() -> Iterator[Named]:
    yield "the best replica answers only after a while", _thaw_late


def _thaw_late(scene: Scene) -> None:
    best = scene.cluster.brokers[scene.incident.best]
    scene.now(lambda: scene.freeze_for(best, 6.0))
    wait_until(lambda: best.frozen, what="it is frozen")
