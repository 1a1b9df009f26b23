# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where Spark runs, and how. The one place that says so. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .._model.run import KafkaOpsError

LOCAL = "local[*,4]"
"""This host alone, a task slot for each core, and a lost task is tried again."""
_LOOKS_SECRET = re.compile(r"secret|password|passwd|token|credential|access[._-]?key", re.IGNORECASE)
"""As Spark's own spark.redaction.regex, and a little more."""
_NAMES_A_FILE = (".file", ".path", ".enabled", ".renewal.ratio")


class SparkOptionsError(KafkaOpsError):
    """Spark is not to be used like that."""


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """Where Spark runs. Nothing in it may be secret: confs show in event logs and process lists.

    Raises SparkOptionsError for what looks secret, and for a place named twice.
    """

    master: str = LOCAL
    """A Spark master URL; the driver is on this host."""
    remote: str | None = None
    """A Spark Connect server's URL, sc://host:port, in place of a master: the driver is there."""
    driver_memory: str = "2g"
    executor_python: str | None = None
    """Path of the Python on executors' hosts; that of this process if None."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Further Spark settings; they win over this collection's own."""

    def __post_init__(self) -> None:
        if self.remote is not None and not self.remote.startswith("sc://"):
            raise SparkOptionsError(f"{self.remote!r} is no Spark Connect server: that is sc://host:port")
        if self.remote is not None and _LOOKS_SECRET.search(self.remote):
            raise SparkOptionsError(
                "the URL of the Spark Connect server holds what looks like a secret: set the environment variable "
                "SPARK_CONNECT_AUTHENTICATE_TOKEN instead"
            )
        secret = sorted(name for name in self.conf if _LOOKS_SECRET.search(name) and not name.endswith(_NAMES_A_FILE))
        if secret:
            raise SparkOptionsError(
                f"the Spark settings {', '.join(secret)} look secret, and every setting shows in process lists and "
                "event logs: put them where Spark runs, or name a file that holds them"
            )

    @property
    def is_local(self) -> bool:
        return self.remote is None and self.master.startswith("local")


def parse_spark_options(given: Mapping[str, Any] | None) -> SparkOptions | None:
    """Return where Spark runs by a module's option; None where nothing is said. Raises SparkOptionsError.

    ``settings_reference`` is about what its tasks do.
    """
    values = {name: value for name, value in (given or {}).items() if value is not None}
    if not values:
        return None
    values.pop("settings_reference", None)
    if "conf" in values:
        # Ansible's booleans are Python's, and Spark's are lower case.
        values["conf"] = {name: _text(value) for name, value in values["conf"].items()}
    return SparkOptions(**values)


def local_spark_options(given: Mapping[str, Any] | None, driver_memory: str) -> SparkOptions:
    """Return how Spark runs on this host, whatever place is given. Raises SparkOptionsError."""
    about_here = {name: (given or {}).get(name) for name in ("driver_memory", "conf")}
    options = parse_spark_options(about_here) or SparkOptions()
    return options if about_here["driver_memory"] is not None else replace(options, driver_memory=driver_memory)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
