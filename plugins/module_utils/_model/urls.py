# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Show URLs in messages. Standard library only."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit


def without_secrets(url: str) -> str:
    """Return a URL, or a path, without user, password and query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(not shown, because it is not a valid URL)"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
