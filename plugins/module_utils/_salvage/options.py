# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options for saving the records of losers, and the place of a salvage directory.

Imports no third-party library, because most elections save nothing.
"""

from __future__ import annotations

import os
from enum import StrEnum
from urllib.parse import unquote, urlsplit

from .._model.run import KafkaOpsError
from .._module.connection import Arguments
from .._module.options import SPARK
from .._spark.options import PASSWORD_IN_URI, has_password, is_uri

DRIVER_MEMORY = "1g"
"""Of Spark, if the operator does not choose it."""
_READ_ONLY = frozenset({"data", "har", "http", "https", "jar"})


class Salvage(StrEnum):
    """Whether to save, before an election, the records that live replicas are about to delete."""

    OFF = "off"
    BEST_EFFORT = "best_effort"
    """If records cannot be saved, warn and elect."""
    REQUIRED = "required"
    """If the records of a partition cannot be saved, do not elect it."""


SALVAGE = SPARK + Arguments(
    argument_spec={
        "salvage": {"type": "str", "choices": [each.value for each in Salvage], "default": Salvage.OFF.value},
        "salvage_dir": {"type": "path"},
    }
)


class SalvageDirectoryError(KafkaOpsError):
    """Records cannot be saved to a directory, or not be read from it. The message says why and what to do."""


def resolve_place(given: str) -> str:
    """Return an absolute local path, or the URI of a directory on another file system.

    Raises SalvageDirectoryError: the URI names no directory, has a password, or has a read-only scheme.
    """
    if not is_uri(given):
        return os.path.abspath(given)
    if has_password(given):
        raise SalvageDirectoryError(f"salvage_dir: {PASSWORD_IN_URI}")
    uri = urlsplit(given)
    if uri.scheme == "file":
        if uri.netloc not in {"", "localhost"}:
            raise SalvageDirectoryError(
                f"{given} names host {uri.netloc}, but file: means this host: write file:///..."
            )
        return os.path.abspath(unquote(uri.path))
    if uri.scheme in _READ_ONLY:
        raise SalvageDirectoryError(f"{given}: nothing can be written to {uri.scheme}: URIs. Name another file system")
    if not uri.path.strip("/"):
        raise SalvageDirectoryError(f"{given} names no directory: add one")
    return given.rstrip("/")
