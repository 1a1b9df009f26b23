# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kinds of fault: faults after the plan, and a table of all faults."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kafka.protocol.api_key import ApiKey

from campaign.broker_faults import Named, disks, kill, late, stale, unmount, while_asked
from campaign.incident import PARTITIONS, TOPIC
from campaign.operators import operators
from campaign.scene import Scene
from campaign.surroundings import surroundings
from lab import settings
from lab.faults import (
    After,
    Before,
    DisconnectError,
    DropAfterRequest,
    DropBeforeRequest,
    Fault,
    SwallowResponse,
)
from lab.leadership import request_reassignments
from lab.waiting import wait_until

_RUN_TOPIC = "_kafkaops_run"
_LATE_S = 8.0
"""Later than the request timeout of a run."""
_SASL, _MECHANISM = "SASL_PLAINTEXT", "SCRAM-SHA-512"
_USER, _PASSWORD = "alice", "alice-secret"
_ADMIN_TIMEOUT_S = 10
_ELECT, _REORDER = ApiKey.ElectLeaders, ApiKey.AlterPartitionReassignments


@dataclass(frozen=True)
class Kind:
    """A kind of fault."""

    group: str
    """Its group in the report of the campaign."""
    name: str
    begin: Callable[[Scene], object]
    """Called before the run begins. The fault that it prepares happens then or later."""


def _since_the_plan() -> Iterator[Named]:
    yield "the dead leader returns after the plan", _return_after_plan
    yield "the best replica restarts after the plan", _restart_after_plan
    yield "somebody else elects after the plan", _elect_after_plan
    yield "somebody else elects just before the reorder", partial(_elect_at, _REORDER)
    yield "the topic is created again after the plan", _replace_topic
    yield "somebody else begins a reassignment after the plan", _reassign_after_plan
    yield "somebody else sets another order after the reorder", _set_other_orders
    yield (
        "a log directory of the best replica goes offline after the plan",
        lambda scene: scene.between(partial(unmount, scene)),
    )


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


def _reassign_after_plan(scene: Scene) -> None:
    incident = scene.incident
    # It cannot complete without a leader, and Kafka refuses to cancel it. So another party elects one at the end.
    scene.has_other_elections = True

    def add_a_replica() -> None:
        incident.replicas = (*incident.replicas, incident.witness)
        request_reassignments(scene.cluster, TOPIC, dict.fromkeys(range(PARTITIONS), incident.replicas))

    scene.between(add_a_replica)
    scene.afterwards.append(lambda: scene.cluster.client.elect_unclean(TOPIC, range(PARTITIONS)))


def _set_other_orders(scene: Scene) -> None:
    incident = scene.incident

    def set_orders() -> None:
        incident.replicas = (incident.other, incident.best, incident.dead)
        request_reassignments(scene.cluster, TOPIC, dict.fromkeys(range(PARTITIONS), incident.replicas))
        # An order that is set in the milliseconds before an election decides it: Kafka has no compare-and-set.
        wait_until(are_seen, what="every broker knows the other order")

    def are_seen() -> bool:
        brokers = [each.node_id for each in scene.cluster.live_brokers]
        views = [scene.cluster.client.describe(TOPIC, broker=each).values() for each in brokers]
        return all(each.replicas == incident.replicas for view in views for each in view)

    scene.at(After, _REORDER, set_orders)


def _requests() -> Iterator[Named]:
    def spoil(fault: Fault, api_key: ApiKey, scene: Scene) -> None:
        scene.spoil(fault, api_key)

    late = Before(partial(time.sleep, _LATE_S))
    for what, api_key in (("election", _ELECT), ("reorder", _REORDER)):
        yield f"the request of the {what} is lost", partial(spoil, DropBeforeRequest(), api_key)
        yield f"the response of the {what} is lost", partial(spoil, DropAfterRequest(), api_key)
        yield f"the response of the {what} never comes", partial(spoil, SwallowResponse(), api_key)
        yield f"the {what} is carried out late", partial(spoil, late, api_key)
    yield "our credentials are deleted after the reorder", _delete_credentials
    yield "the best replica is killed just before the election", partial(kill, "best", _ELECT)
    yield "the best replica is shut down just before the election", _shut_down_at_election
    yield "the active controller is killed just before the election", _kill_controller
    yield "the active controller is frozen for a while just before the reorder", _freeze_controller
    yield "the controllers have no majority for a while just before the election", _freeze_majority


def _delete_credentials(scene: Scene) -> None:
    scene.connection = {
        "bootstrap_servers": [scene.cluster.bootstrap(_SASL)],
        "security_protocol": _SASL,
        "sasl_mechanism": _MECHANISM,
        "sasl_username": _USER,
        "sasl_password": _PASSWORD,
    }
    admin = AdminClient({"bootstrap.servers": scene.cluster.bootstrap(settings.INTERNAL), "log_level": 0})
    mechanism = ScramMechanism.SCRAM_SHA_512

    def alter(change: UserScramCredentialAlteration) -> None:
        admin.alter_user_scram_credentials([change])[_USER].result(_ADMIN_TIMEOUT_S)

    def delete() -> None:
        # Close the connection, too: an existing connection stays authenticated.
        alter(UserScramCredentialDeletion(_USER, mechanism))
        raise DisconnectError

    scene.at(After, _REORDER, delete)
    added = UserScramCredentialUpsertion(_USER, ScramCredentialInfo(mechanism, 4096), _PASSWORD.encode())
    scene.afterwards.append(lambda: alter(added))


def _shut_down_at_election(scene: Scene) -> None:
    scene.silenced.add(scene.incident.best)
    scene.at(Before, _ELECT, scene.cluster.brokers[scene.incident.best].stop)


def _kill_controller(scene: Scene) -> None:
    scene.at(Before, _ELECT, lambda: scene.cluster.active_controller().kill())


def _freeze_controller(scene: Scene) -> None:
    scene.at(Before, _REORDER, lambda: scene.freeze_for(scene.cluster.active_controller(), _LATE_S))


def _freeze_majority(scene: Scene) -> None:
    def freeze() -> None:
        active = scene.cluster.active_controller()
        follower = next(each for each in scene.cluster.controllers.values() if each is not active)
        for node in (follower, active):
            scene.freeze_for(node, _LATE_S)

    scene.at(Before, _ELECT, freeze)


def _own_end() -> Iterator[Named]:
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


def _journal() -> Iterator[Named]:
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


KINDS = tuple(
    Kind(group, name, begin)
    for group, table in (
        ("C", while_asked),
        ("D", disks),
        ("E", _since_the_plan),
        ("F", _requests),
        ("G", _own_end),
        ("H", _journal),
        ("I", late),
        ("I", stale),
        ("L", surroundings),
        ("L", operators),
    )
    for name, begin in table()
)
