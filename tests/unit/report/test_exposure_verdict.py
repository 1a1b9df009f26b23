# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A report of exposure is good only if something was recorded, and nothing that it shows is bad."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.diagnosis import Case
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.exposure_section import build_exposure_verdict


def cluster(**changes: Any) -> dict[str, Any]:
    numbers = {f"{name}Partitions": 0 for name in ("low", "below", "offline", "unknown")}
    disk = {"fullInHours": 900, "fullInHoursLately": None}
    return {
        **numbers,
        "partitions": 9,
        "coverage": {"snapshots": 4, "gaps": []},
        "brokers": [{"state": "online"}, {"state": "unknown"}],  # the second one was removed from the cluster
        "disks": [disk],
        "cleaners": [{"diagnosis": Case.HEALTHY}, {"diagnosis": Case.UNKNOWN}],
        **changes,
    }


def test_a_cluster_without_anything_bad_is_good() -> None:
    assert build_exposure_verdict({"clusters": [cluster()], "notes": []})[1] == "good"


@pytest.mark.parametrize(
    ("changes", "notes", "said", "tone"),
    [
        pytest.param({"partitions": 0}, [], "1 cluster has no partition in the recordings", "warning", id="no topic"),
        pytest.param(
            {"brokers": [{"state": "unreachable"}, {"state": "fenced"}]},
            [],
            "2 brokers are not online at the end",
            "warning",
            id="brokers",
        ),
        pytest.param(
            {"disks": [{"fullInHours": 900, "fullInHoursLately": 0}]},
            [],
            "1 disk is full or almost full",
            "bad",
            id="disk",
        ),
        pytest.param(
            {"cleaners": [{"diagnosis": Case.UNCLEANABLE_PARTITIONS}]},
            [],
            "1 log cleaner seems to fall behind",
            "warning",
            id="cleaner",
        ),
        pytest.param({}, ["damaged snapshots are not used"], "0 gaps between snapshots.", "warning", id="note"),
    ],
)
def test_what_is_bad_or_missing_is_said(changes: dict[str, Any], notes: list[str], said: str, tone: str) -> None:
    assert said in build_exposure_verdict({"clusters": [cluster(**changes)], "notes": notes})[0]
    assert build_exposure_verdict({"clusters": [cluster(**changes)], "notes": notes})[1] == tone
