# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Results as modules return them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Broker
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import count_by_status
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import to_json_types
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.groups import group_outcomes, total_loss
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.next_steps import Commands
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from unit.recovery import outages

MAX_ROWS = 50
_PLAYBOOK = [
    "ansible-playbook",
    "kafkaops.recovery.recover_offline_partitions",
    "-e",
    "kafka_bootstrap_servers=kafka2.example.com:9092",
]
_ALL = ["-e", "unclean_recovery_all_offline_partitions=true"]
_ELECT = ["-e", "unclean_recovery_automated_recovery=true"]
COMMANDS = Commands(
    look=[*_PLAYBOOK, *_ALL, "-e", "unclean_recovery_show_replica_info=true"],
    recover=[*_PLAYBOOK, *_ALL, *_ELECT],
    groups=[
        "ansible-playbook",
        "kafkaops.recovery.restore_groups",
        *("-e", "kafka_bootstrap_servers=kafka2.example.com:9092"),
    ],
    salvage=[
        "ansible-playbook",
        "kafkaops.recovery.salvage_logs",
        *("-i", "INVENTORY", "-e", "log_salvage_hosts=HOST", "-e", "kafka_bootstrap_servers=kafka2.example.com:9092"),
        *("-e", '{"log_salvage_log_dirs": ["LOG_DIR"]}', "-e", "log_salvage_dir=NEW_DIR"),
    ],
    bolder=[*_PLAYBOOK, *_ALL, "-e", "unclean_recovery_strategy=aggressive", *_ELECT, "--check"],
)


def a_recovery(outcomes: Sequence[Outcome], brokers: Sequence[Broker], **fields: Any) -> dict[str, Any]:
    """Return what leader_candidate_info or designated_election returns."""
    return {
        "brokers": to_json_types(brokers),
        "partitions": to_json_types(outcomes[:MAX_ROWS]),
        "groups": to_json_types([each.group for each in group_outcomes(outcomes)]),
        "loss": to_json_types(total_loss(outcomes)),
        "summary": count_by_status((each.status for each in outcomes), Status),
        "leftovers": [],
        "aftermath": [],
        **fields,
    }


def an_advice(broker_id: int, always_back: int) -> dict[str, Any]:
    """One entry of ``start_order``."""
    (broker,) = (each for each in outages.brokers(20, dead=[broker_id]) if each.broker_id == broker_id)
    return {
        "broker_id": broker_id,
        "broker": to_json_types(broker),
        "always_back": always_back,
        "back_after_clean_stop": 0,
        "replica_of": always_back,
        "doubtful_leaders": [],
        "is_running": False,
    }
