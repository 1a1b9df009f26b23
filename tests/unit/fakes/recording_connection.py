# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A connection that records the request and returns an empty answer."""

from __future__ import annotations

from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.bulk import BulkAnswer, BulkRequest


class RecordingConnection:
    """Stands in for ``connection.Connection``."""

    request: BulkRequest[Any]

    def call(self, request: BulkRequest[Any], *, timeout_ms: int | None = None) -> BulkAnswer[Any]:
        self.request = request
        return BulkAnswer(0, {})
