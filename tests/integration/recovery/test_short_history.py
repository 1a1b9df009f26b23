# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Of two survivors with the same end, one has the last segments only, as after a swap of hosts (KIP-491)."""

from __future__ import annotations

import pytest

from lab import Cluster, wait_until
from lab.module_process import run_module
from lab.node import Broker

_TOPIC = "short_history"
_BATCHES, _RECORDS = 5, 300
_DEAD, _SHORT, _WHOLE = 1, 2, 3


@pytest.mark.wide
def test_the_survivor_with_the_whole_log_is_elected(kafka_version: str) -> None:
    with Cluster(kafka_version, brokers=3) as cluster:
        cluster.client.create_topic(_TOPIC, {0: [_DEAD, _SHORT, _WHOLE]}, {"segment.bytes": 1 << 20})
        for _batch in range(_BATCHES):
            cluster.client.produce(_TOPIC, 0, _RECORDS, record_bytes=2_000)
        for each in (_WHOLE, _SHORT):
            cluster.brokers[each].stop()
            wait_until(lambda: each not in cluster.client.describe(_TOPIC)[0].isr, 30, what="it left the ISR")  # noqa: B023
        cluster.brokers[_DEAD].stop()
        start = _keep_last_segment(cluster.brokers[_SHORT])
        for each in (_SHORT, _WHOLE):
            cluster.brokers[each].start()

        done = run_module(
            "unclean_recovery",
            {
                "bootstrap_servers": [cluster.bootstrap()],
                "partitions": [{"topic": _TOPIC, "partitions": [0]}],
                "lost_brokers": [_DEAD],
            },
        )
        (outcome,) = done["partitions"]
        assert (outcome["status"], outcome["leader_after"]) == ("recovered", _WHOLE), done
        assert f"but its log has more: from offset 0 on, and not only from {start} on" in outcome["reason"]
        assert len(cluster.client.consume_all(_TOPIC, 0)) == _BATCHES * _RECORDS


def _keep_last_segment(broker: Broker) -> int:
    """Delete the segments before the last one, and return the offset at which the log begins then."""
    (directory,) = (each / f"{_TOPIC}-0" for each in broker.data_dirs if (each / f"{_TOPIC}-0").is_dir())
    *earlier, last = sorted(directory.glob("*.log"))
    for segment in earlier:
        for file in directory.glob(f"{segment.stem}.*"):
            file.unlink()
    return int(last.stem)
