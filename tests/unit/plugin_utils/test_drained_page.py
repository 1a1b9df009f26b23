# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a drain says about the stop of the drained brokers."""

from __future__ import annotations

from typing import Any

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.drained_page import blocks
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.rendering import rendered

_VARIABLES = {"kafka_bootstrap_servers": ["kafka2:9092"], "kafka_command_config": "/etc/kafka/client.properties"}


def _stop(led: dict[int, int], *, verdict: str) -> dict[str, Any]:
    counts = [{"broker_id": each, "partitions": count} for each, count in led.items()]
    return {"brokers": [*led], "verdict": verdict, "led": counts}


_BELOW = {
    "kind": "below_min_isr",
    "brokers": [1],
    "text": "1 partition would be below min.insync.replicas and refuse records with acks=all: orders 0",
    "remedy": "Bring their other replicas in sync first",
}


def _text(stop: dict[str, Any], *, is_check: bool = False) -> str:
    return rendered(blocks(stop, _VARIABLES, is_check=is_check), 80, color=False)


def test_each_broker_has_what_it_leads_and_its_answer() -> None:
    both = {**_BELOW, "kind": "no_leader", "brokers": [1, 2], "text": "1 partition would have no leader: orders 0"}
    stops = [
        _stop({1: 3}, verdict="no"),
        _stop({2: 0}, verdict="yes"),
        _stop({1: 3, 2: 0}, verdict="no"),
    ]
    assert (
        _text({"verdict": "no", "stops": stops, "reasons": [_BELOW, both]})
        == """\
Safe to stop
  broker 1      no; still leads 3 partitions
                below min isr: 1 partition would be below min.insync.replicas
                and refuse records with acks=all: orders 0
                do: Bring their other replicas in sync first
  broker 2      yes; still leads 0 partitions
  brokers 1, 2  no, all at the same time
                no leader: 1 partition would have no leader: orders 0
                do: Bring their other replicas in sync first
  Before a broker stops, ask again:
    ansible-playbook kafkaops.recovery.check_stop \\
      -e kafka_bootstrap_servers=kafka2:9092 \\
      -e kafka_command_config=/etc/kafka/client.properties \\
      -e stop_gate_sets=1,1+2"""
    )


def test_in_check_mode_nothing_was_moved() -> None:
    stop = {"verdict": "yes", "stops": [_stop({1: 1}, verdict="yes")], "reasons": []}
    assert (
        _text(stop, is_check=True)
        == """\
Safe to stop, as it is now (nothing was moved)
  broker 1  yes; leads 1 partition"""
    )


def test_without_an_answer_nothing_is_safe() -> None:
    assert "not known: nobody could be asked" in _text({"failed": True, "msg": "no broker answers"})
    assert _text({}) == _text({"skipped": True}) == ""
