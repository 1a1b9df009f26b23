# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What README and the runbook show is what a real run prints, word for word.

Addresses, cluster ids, times, estimates and the names of reports differ from run to run. With another address a line
may break at another word, so words are compared; where a document's lines break is a matter of its own test.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from lab import Cluster, scenarios, versions
from lab.playbook import RECOVER, typed
from lab.pool import STANDARD, ClusterPool
from publish.pictures import shown

_LOOKED = ("docs/runbook.md", "0 of 3 partitions")
_ELECTED = ("README.md", "3 of 3 partitions")
"""A document, and the first words of the output that it shows."""
_COLUMNS = 80
_VARYING = {
    r"\d{4}-\d\d-\d\dT[\d:.]+Z": "TIME",
    r"\d+ s (of writes|before the loss)": r"SECONDS \1",
    r"about \d+ records, \d+ to \d+": "ESTIMATE",
}
_ELECT = {
    "unclean_recovery_all_offline_partitions": "true",
    "unclean_recovery_lost_brokers": "1",
    "unclean_recovery_automated_recovery": "true",
}
_LOOK = {"unclean_recovery_show_replica_info": "true"}


def printed(cluster: Cluster, directory: Path, variables: Mapping[str, str]) -> str:
    """Run the recovery as a person does, and return what its summary prints, with the documents' names."""
    given = {
        "kafka_bootstrap_servers": cluster.bootstrap(),
        # The same text comes from Spark, 8 CPU seconds later.
        "unclean_recovery_engine": "process",
        **variables,
    }
    words = [word for name, value in given.items() for word in ("-e", f"{name}={value}")]
    output = typed(directory, "ansible-playbook", RECOVER, *words).output
    summary = re.split(r"TASK \[.*: Print the summary\] \*+\n", output)[1]
    text = re.split(r"^(?:ok|fatal|changed): \[localhost\]", summary, flags=re.MULTILINE)[0]
    for number, address in zip(cluster.brokers, cluster.bootstrap().split(","), strict=True):
        text = text.replace(address, f"broker{number}:9092")
    return re.sub(r"Report: \S+/recovery-\w+\.json", "Report: recovery-TIME.json", text)


def words(text: str) -> list[str]:
    """Return the words, without what continues a line, and with the same times and estimates."""
    joined = " ".join(re.sub(r" \\$", "", text, flags=re.MULTILINE).split())
    for varies, name in _VARYING.items():
        joined = re.sub(varies, name, joined)
    return joined.split()


def test_what_the_documents_show_is_what_a_run_prints(clusters: ClusterPool, tmp_path: Path) -> None:
    """On the version that the documents are about: another one has no ELR, for instance."""
    with clusters.lease(STANDARD, versions.DEFAULT) as cluster:
        scenarios.diverged(cluster, "orders", 3)
        look = printed(cluster, tmp_path, _LOOK)
        elected = printed(cluster, tmp_path, _ELECT)
    assert words(look) == words(shown(*_LOOKED)), look
    assert words(elected) == words(shown(*_ELECTED)), elected


@pytest.mark.parametrize(("document", "first"), [_LOOKED, _ELECTED])
def test_what_is_shown_fits_a_terminal(document: str, first: str) -> None:
    assert max(map(len, shown(document, first).splitlines())) <= _COLUMNS
