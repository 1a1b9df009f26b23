# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a person sees of a recording: what was stored, and what gave no answer."""

from __future__ import annotations

from typing import Any

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.layout import laid_out
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.recording_page import blocks

_PART: dict[str, Any] = {
    "cluster_id": "c1",
    "place": "file:///srv/snapshot",
    "is_full": False,
    "replicas": 600_000,
    "stored_rows": 6_120,
    "size_bytes": 250_000,
    "missing": {},
    "silent_brokers": {},
    "expired": 2,
    "notes": [],
}


def printed(**changes: Any) -> str:
    return laid_out(blocks(_PART | changes), 100, color=False)


def test_what_changed_its_size_and_what_expired() -> None:
    text = printed()
    assert text.startswith("Stored 6,120 changed ones of 600,000 replicas of cluster c1.")
    assert text.splitlines()[2].split() == ["600,000", "600,000", "6,120", "what", "changed", "244", "KiB", "2"]
    assert text.endswith("Recording: file:///srv/snapshot")


def test_silent_brokers_and_their_replicas_are_no_zeros() -> None:
    text = printed(missing={"not_authorized": 6_000}, silent_brokers={"7": "SASL was refused"})
    assert "; of all replicas, 6,000 gave no answer." in text
    assert "594,000" in text
    assert "not authorized" in text
    assert "7       SASL was refused" in text


def test_check_mode_has_no_size() -> None:
    text = printed(is_full=True, size_bytes=None, stored_rows=600_000)
    assert text.startswith("Would store a full snapshot: 600,000 replicas of cluster c1.")
    assert "not written" in text
