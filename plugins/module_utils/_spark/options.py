# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define where and how Spark runs. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from .._model.fields import Meta
from .._model.run import KafkaOpsError

LOCAL = "local[*,4]"
"""Spark on this host, with a task slot for each core. A failed task is retried."""
_LOOKS_SECRET = re.compile(r"secret|password|passwd|token|credential|access[._-]?key", re.IGNORECASE)
"""Like Spark's own spark.redaction.regex, with a few additions."""
_NOT_SECRET_SUFFIXES = (".file", ".path", ".enabled", ".renewal.ratio")


_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_OF_THIS_HOST = re.compile(r"file:(?://(?:localhost)?)?(?=/[^/])")
_PASSWORD = re.compile(r"://[^/@\s\[]*:(?!\d{1,5}[/?#])[^@\s]*@")
"""Also one with a slash in it, as keys of object stores have."""
PASSWORD_IN_URI = (
    "the URI holds a password, which results and reports would show: put it into Hadoop's configuration "
    "(HADOOP_CONF_DIR)"
)


def is_uri(place: str) -> bool:
    """Return whether this is a URI, which only Spark reads and writes, and not a path."""
    return bool(_URI.match(place))


def local_uri(path: str | Path) -> str:
    """Return the URI of a path on this host, as Hadoop's ``Path(String)`` takes it: without any percent-encoding.

    ``Path.as_uri`` encodes, and Hadoop would then use another directory: ``a%40b`` for ``a@b``.
    """
    return f"file://{Path(path).absolute()}"


def local_path(place: str) -> str | None:
    """Return the path on this host that a path or a ``file:`` URI names. None if it is on another file system."""
    found = _OF_THIS_HOST.match(place)
    if found is None:
        return None if is_uri(place) else place
    return place[found.end() :]


def has_password(text: str) -> bool:
    """Return whether a URI or URL in the text holds a password (``//user:password@``)."""
    return bool(_PASSWORD.search(text))


SUBOPTIONS: Mapping[str, Mapping[str, str]] = {
    "master": {"type": "str"},
    "remote": {"type": "str"},
    "driver_memory": {"type": "str"},
    "executor_python": {"type": "path"},
    "settings_reference": {"type": "path"},
    "conf": {"type": "dict"},
}
"""Of the option ``spark`` of modules."""


class SparkOptionsError(KafkaOpsError):
    """The options for Spark cannot be used."""


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """Where and how Spark runs. No value may be secret, because event logs and process lists show settings.

    Raises SparkOptionsError for a value that looks secret, and for an invalid URL.
    """

    master: str = LOCAL
    """A Spark master URL; the driver is on this host."""
    remote: str | None = None
    """A Spark Connect server's URL, sc://host:port, in place of a master: the driver is there."""
    driver_memory: str = "2g"
    executor_python: str | None = None
    """Path of the Python on the executors' hosts. None means the path of this process' Python."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Further Spark settings. They override this collection's own."""

    def __post_init__(self) -> None:
        urls = {"master": self.master, "remote": self.remote or "", **self.conf}
        if with_password := [name for name, text in urls.items() if has_password(text)]:
            raise SparkOptionsError(
                f"{', '.join(with_password)} of spark has a URL with a password, which messages and process lists "
                "show: take it out"
            )
        if self.remote is not None and not self.remote.startswith("sc://"):
            raise SparkOptionsError(f"{self.remote!r} is not the URL of a Spark Connect server: that is sc://host:port")
        if self.remote is not None and _LOOKS_SECRET.search(self.remote):
            raise SparkOptionsError(
                "the URL of the Spark Connect server holds what looks like a secret: set the environment variable "
                "SPARK_CONNECT_AUTHENTICATE_TOKEN instead"
            )
        secret = sorted(
            name for name in self.conf if _LOOKS_SECRET.search(name) and not name.endswith(_NOT_SECRET_SUFFIXES)
        )
        if secret:
            raise SparkOptionsError(
                f"the Spark settings {', '.join(secret)} look secret, and every setting shows in process lists and "
                "event logs: put them where Spark runs, or name a file that holds them"
            )

    @property
    def is_local(self) -> bool:
        return self.remote is None and self.master.startswith("local")


class EngineName(StrEnum):
    """What ranks the replicas and computes all that follows from their answers."""

    SPARK = "spark"
    PROCESS = "process"
    """The module's own process, without Spark and Java."""


@dataclass(frozen=True, slots=True)
class EngineUse:
    """The engine that did the work of a run."""

    name: Annotated[EngineName, Meta("an engine")]
    reason: str = ""
    """Why it is not the engine that the operator chose. Empty if it is."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Which engine the operator chose, where Spark runs, and how long a run waits for it.

    Raises SparkOptionsError if ``spark`` is given for an engine without Spark.
    """

    name: EngineName = EngineName.SPARK
    spark: SparkOptions | None = None
    """Where Spark runs. None if the operator did not say."""
    wait_ms: int = 10_000
    """How long Spark may still take to start when the work for it is there, in milliseconds."""

    def __post_init__(self) -> None:
        if self.name is EngineName.PROCESS and self.spark is not None:
            raise SparkOptionsError(
                "engine is process, which uses no Spark, and spark says where Spark runs: give one of the two"
            )
        if self.wait_ms < 0:
            raise SparkOptionsError(f"spark_wait_ms is {self.wait_ms}: give milliseconds, from 0 on")

    @property
    def where(self) -> SparkOptions:
        """Where Spark runs. Without the operator's word, on this host."""
        return self.spark or SparkOptions()


def parse_spark_options(given: Mapping[str, Any] | None) -> SparkOptions | None:
    """Return the options for Spark from a module's option. None if it is empty. Raises SparkOptionsError.

    ``settings_reference`` is ignored: it is an option for Spark's tasks.
    """
    values = {name: value for name, value in (given or {}).items() if value is not None}
    if not values:
        return None
    if "master" in values and "remote" in values:
        raise SparkOptionsError("spark has both master and remote, and Spark runs at one of them: give one")
    values.pop("settings_reference", None)
    if "conf" in values:
        # Ansible passes booleans as Python's True and False. Spark expects true and false.
        values["conf"] = {name: _text(value) for name, value in values["conf"].items() if value is not None}
    return SparkOptions(**values)


def require_settings_reference(given: Mapping[str, Any], options: SparkOptions) -> str:
    """Return the path of the connection settings on the hosts of the executors, which is a module's option.

    Raises SparkOptionsError if the option is not given.
    """
    reference: str | None = given.get("settings_reference")
    if reference is None:
        raise SparkOptionsError(
            f"Spark runs at {options.remote or options.master}, so its executors need a file of their own with the "
            "connection settings: put one on each of their hosts, and name it in spark.settings_reference "
            "(docs/spark.md)"
        )
    return reference


def local_spark_options(given: Mapping[str, Any] | None, driver_memory: str) -> SparkOptions:
    """Return the options for Spark on this host: only ``driver_memory`` and ``conf`` of a module's option are used.

    Raises SparkOptionsError.
    """
    local = {name: (given or {}).get(name) for name in ("driver_memory", "conf")}
    options = parse_spark_options(local) or SparkOptions()
    return options if local["driver_memory"] is not None else replace(options, driver_memory=driver_memory)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
