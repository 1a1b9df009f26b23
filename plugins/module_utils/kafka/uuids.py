# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kafka's text form of a Uuid: 22 characters of URL-safe base64."""

from __future__ import annotations

import base64
import re
import uuid

_TEXT = re.compile("[A-Za-z0-9_-]{22}")


def uuid_text(value: uuid.UUID) -> str:
    """As Kafka's tools write it."""
    return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")


def parse_uuid(text: str) -> uuid.UUID:
    """Reads what uuid_text writes.

    Raises ValueError.
    """
    if not _TEXT.fullmatch(text):
        raise ValueError(f"{text!r} is no Uuid of Kafka's: that is 22 letters, digits, '-' and '_'")
    return uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))
