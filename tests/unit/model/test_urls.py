# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No message shows the secrets of a URL."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.urls import without_secrets


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://me:pw@h:1/metrics?token=x", "http://h:1/metrics"),
        ("https://key@idp.example/token#pw", "https://idp.example/token"),
        ("/run/secrets/token", "/run/secrets/token"),
        ("http://me:pw@[::1", "(not shown, because it is not a valid URL)"),
    ],
)
def test_a_url_is_shown_without_secrets(url: str, shown: str) -> None:
    assert without_secrets(url) == shown
