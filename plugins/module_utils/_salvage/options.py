# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where records are saved: options of saving losers' tails, and the place of a salvage directory.

Imports no library: most elections save nothing.
"""

from __future__ import annotations

import os
import re
from enum import StrEnum
from urllib.parse import unquote, urlsplit

from .._model.run import KafkaOpsError
from .._module.connection import Arguments
from .._module.options import SPARK

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_READ_ONLY = frozenset({"data", "har", "http", "https", "jar"})


class Salvage(StrEnum):
    """Whether what live replicas are about to delete is saved before."""

    OFF = "off"
    BEST_EFFORT = "best_effort"
    """What cannot be saved is a warning."""
    REQUIRED = "required"
    """A partition whose tails cannot be saved is not elected."""


SALVAGE = SPARK + Arguments(
    argument_spec={
        "salvage": {"type": "str", "choices": [each.value for each in Salvage], "default": Salvage.OFF.value},
        "salvage_dir": {"type": "path"},
    }
)


class SalvageDirectoryError(KafkaOpsError):
    """A directory that records cannot be saved to, or read from. The message says why and what to do."""


def is_remote(place: str) -> bool:
    """Return whether ``place`` is a URI. What ``resolve_place`` has returned is one where it is not a local path."""
    return _URI.match(place) is not None


def resolve_place(given: str) -> str:
    """Return an absolute path, or a URI of another file system than the local one.

    Raises SalvageDirectoryError: a URI that names no directory, or a scheme that nothing can be written to.
    """
    if not is_remote(given):
        return os.path.abspath(given)
    uri = urlsplit(given)
    if uri.scheme == "file":
        if uri.netloc not in {"", "localhost"}:
            raise SalvageDirectoryError(
                f"{given} names host {uri.netloc}, and file: is on this host: write file:///..."
            )
        return os.path.abspath(unquote(uri.path))
    if uri.scheme in _READ_ONLY:
        raise SalvageDirectoryError(f"{given}: nothing can be written to {uri.scheme}:, name another file system")
    if uri.password is not None:
        raise SalvageDirectoryError(
            f"the URI of a salvage directory on {uri.scheme}: holds a password, which reports would show: put it into "
            "Hadoop's configuration (HADOOP_CONF_DIR)"
        )
    if not uri.path.strip("/"):
        raise SalvageDirectoryError(f"{given} names no directory: add one")
    return given.rstrip("/")
