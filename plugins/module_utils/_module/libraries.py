# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check before a module starts that its Python libraries are installed, so that no run fails halfway."""

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
KAFKA_AND_ARROW = (*KAFKA, "pyarrow")
SPARK = ("pyspark",)
KAFKA_AND_SPARK = (*KAFKA_AND_ARROW, *SPARK)
BOTH_KAFKA_CLIENTS = (*KAFKA, "confluent_kafka")
PLAYBOOKS_WITH_BOTH_KAFKA_CLIENTS = ("replay_salvaged_records",)
"""The playbooks whose modules need BOTH_KAFKA_CLIENTS. A unit test compares them with the modules."""

RECORDS = ("aiokafka", "crc32c", "pyarrow")
"""For record batches, and the files of a salvage."""

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
"""By import name: the name on PyPI, and the oldest version that works, as in meta/ee-requirements.txt."""


def missing_libraries_message(libraries: Iterable[str]) -> str:
    """Return a message about the libraries that are missing or too old. Empty if there are none.

    Imports none of them, because a version that is too old may fail during its import.
    """
    missing = {name: text for name in libraries if (text := _describe_missing(name))}
    if not missing:
        return ""
    wanted = " ".join(f"'{REQUIRED[name][0]}>={REQUIRED[name][1]}'" for name in missing)
    return (
        f"{sys.executable} (Python {platform.python_version()}) on {platform.node()}, which ran this module, lacks "
        f"{', '.join(missing.values())}. Install them there ({sys.executable} -m pip install {wanted}), or set "
        "ansible_python_interpreter to a Python that has them"
    )


def hide_outdated(*names: str) -> None:
    """Make the import of these libraries fail if they are too old, as if they were not installed.

    Otherwise an import from an old version would end in a traceback.
    """
    for name in names:
        if name not in sys.modules and _outdated_version(name):
            sys.modules[name] = None  # type: ignore[assignment]  # Python then raises ModuleNotFoundError


def _describe_missing(name: str) -> str:
    """Return the library with its required and its installed version if it is missing or too old. Else empty."""
    distribution, required = REQUIRED[name]
    found = _outdated_version(name)
    if found:
        return f"{distribution} {required} or later (found {found})"
    return f"{distribution} {required} or later (not installed)" if find_spec(name) is None else ""


def _outdated_version(name: str) -> str:
    """Return the version of a library if it is too old, else an empty text."""
    distribution, required = REQUIRED[name]
    try:
        found = version(distribution)
    except PackageNotFoundError:
        return ""  # not installed, or without metadata (a package of the operating system, or a checkout)
    return found if _numbers(found) < _numbers(required) else ""


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text.split("+", maxsplit=1)[0])[:3]))
