# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which Python libraries modules need, checked before anything is done: an outage is no time for half a run."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

DOCUMENTS = ("jsonschema",)
REPORT = (*DOCUMENTS, "jinja2")
KAFKA = (*DOCUMENTS, "javaproperties", "kafka")
KAFKA_AND_SPARK = (*KAFKA, "pandas", "pyarrow", "pyspark")
BOTH_KAFKA_CLIENTS = (*KAFKA, "confluent_kafka")

RECORDS = ("aiokafka", "crc32c", "pyarrow")
"""For record batches and the files of a salvage."""

REQUIRED = {
    "aiokafka": ("aiokafka", "0.12"),
    "confluent_kafka": ("confluent-kafka", "2.16"),
    "crc32c": ("crc32c", "2.7"),
    "cryptography": ("cryptography", "42"),
    "javaproperties": ("javaproperties", "0.8"),
    "jinja2": ("jinja2", "3.1"),
    "jsonschema": ("jsonschema", "4.26"),
    "kafka": ("kafka-python", "3.0"),
    "pandas": ("pandas", "2.2"),
    "prometheus_client": ("prometheus-client", "0.22"),
    "pyarrow": ("pyarrow", "20"),
    "pyspark": ("pyspark", "4.1"),
    "rich": ("rich", "15"),
}
"""What PyPI calls each library, and the first version that will do, as in meta/ee-requirements.txt; by import name."""


def missing_libraries_message(libraries: Iterable[str]) -> str:
    """Return what a person has to know who lacks some of these libraries; empty where all can be used.

    Imports none of them: a version that is too old may fail while it is imported.
    """
    lacking = {name: found for name in libraries if (found := _lack(name))}
    if not lacking:
        return ""
    wanted = " ".join(f"'{REQUIRED[name][0]}>={REQUIRED[name][1]}'" for name in lacking)
    return (
        f"{sys.executable} (Python {platform.python_version()}) on {platform.node()}, which ran this module, lacks "
        f"{', '.join(lacking.values())}. Install them there ({sys.executable} -m pip install {wanted}), or set "
        "ansible_python_interpreter to a Python that has them"
    )


def hide_outdated(*names: str) -> None:
    """Let these libraries be absent for every import where they are too old: what they lack would be a traceback."""
    for name in names:
        if name not in sys.modules and _too_old(name):
            sys.modules[name] = None  # type: ignore[assignment]  # what Python's own import takes for "not there"


def _lack(name: str) -> str:
    """Return what is missing of one library, with the version that is required and the one that is there."""
    distribution, required = REQUIRED[name]
    found = _too_old(name)
    if found:
        return f"{distribution} {required} or later (found {found})"
    return f"{distribution} {required} or later (not installed)" if find_spec(name) is None else ""


def _too_old(name: str) -> str:
    """Return the version of a library that is too old, else nothing."""
    distribution, required = REQUIRED[name]
    try:
        found = version(distribution)
    except PackageNotFoundError:
        return ""  # absent, or not from PyPI: a distribution's package, or a checkout
    return found if _numbers(found) < _numbers(required) else ""


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text.split("+", maxsplit=1)[0])[:3]))
