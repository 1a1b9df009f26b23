# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Explain errors of Spark: the cause in one sentence, and the remedy. Pure; standard library only.

Spark passes the message of a worker on as text inside a Java stack trace. A known message is replaced by a text for the
operator.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_MISMATCH = re.compile(r"Python in worker has different version:? ?(\S+?) than that in driver:? ?(\S+?)[,.]? ")
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_NOT_INSTALLED = re.compile(r"((?:PyArrow|Pandas|pandas)) >= ([\d.]+) must be installed")
_HIDDEN_IMPORT = re.compile(r"Can't get attribute '\w+' on <module 'ansible_collections\.kafkaops\.recovery\.")
"""If a library is missing, our modules can still be imported, but lack the names that need the library."""
_NO_PYTHON = re.compile(r'Cannot run program "([^"]+python[^"]*)"')
_HEAP = re.compile(r"java\.lang\.OutOfMemoryError: ([^\n|]+)")
_KILLED = re.compile(r"exited with code (137|52)|exit code:? (137|52)|Container killed|exceeding (?:physical )?memory")
_WORKER_DIED = re.compile(r"Python worker exited unexpectedly|Python worker faulthandler")
_DENIED = re.compile(
    r"AccessDeniedException: (?P<listed>/[^\n:]+)|FileNotFoundException: (?P<opened>/[^\n]+?) \(Permission denied\)|"
    r"Mkdirs failed to create (?:file:)?(?P<created>/[^\n]+?)(?:/_temporary/[^\n]*)? \("
)
_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded")
_OWN = re.compile(r"^ansible_collections\.kafkaops\.recovery\.[\w.]+Error: (.+)", re.MULTILINE)
"""An error of this collection in a worker, written for a person."""
_CALL = "An error occurred while calling "
"""Before the error of a Java method."""
_CAUSED = "Caused by: "
_TOKEN = re.compile(r"UNAUTHENTICATED|[Ii]nvalid authentication token|authentication token", re.ASCII)

_PYTHON = (
    "Install it for that Python, or name another one in spark.executor_python. On a Spark Connect server, the server's "
    "PYSPARK_PYTHON counts (docs/spark.md)"
)
_DISK = "Free space there, and in the directory for temporary files (TMPDIR, spark.local.dir)"
_MEMORY = (
    "Give executors more memory (spark.conf: spark.executor.memory, spark.executor.pyspark.memory, "
    "spark.executor.memoryOverhead), or give each fewer tasks at once (spark.executor.cores)"
)


def _explain_versions(match: re.Match[str]) -> str:
    return (
        f"executors run Python {match[1]}, and this module runs Python {match[2]}: Spark needs the same minor version. "
        f"Name a Python {match[2]} that is on the executors' hosts in spark.executor_python, or, with a Spark Connect "
        f"server, start the server with PYSPARK_PYTHON set to one, or run this module with Python {match[1]}"
    )


def _explain_missing_library(match: re.Match[str]) -> str:
    return f"the Python of Spark's executors lacks the library {match[1]}. {_PYTHON}"


def _explain_old_library(match: re.Match[str]) -> str:
    return f"the Python of Spark's executors lacks {match[1].lower()} {match[2]} or later. {_PYTHON}"


_KNOWN: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (_MISMATCH, _explain_versions),
    (_NOT_INSTALLED, _explain_old_library),
    (_NO_MODULE, _explain_missing_library),
    (
        _HIDDEN_IMPORT,
        lambda _match: (
            "the Python of Spark's executors lacks a library that this collection needs, pyarrow or kafka-python. "
            f"{_PYTHON}"
        ),
    ),
    (
        _NO_PYTHON,
        lambda match: (
            f"there is no Python at {match[1]} on an executor's host. Name one that is there in spark.executor_python"
        ),
    ),
    (
        _DENIED,
        lambda match: (
            f"the user that runs Spark may not read or write {match['listed'] or match['opened'] or match['created']}. "
            "Give that user access to it"
        ),
    ),
    (_NO_SPACE, lambda match: f"{match[0][0].lower()}{match[0][1:]}. {_DISK}"),
    (_HEAP, lambda match: f"a JVM of Spark ran out of memory ({match[1].strip()}). {_MEMORY}"),
    (
        _KILLED,
        lambda match: (
            f"an executor was killed or ended itself ({match[0]}), as happens when memory runs out. {_MEMORY}"
        ),
    ),
    (
        _WORKER_DIED,
        lambda _match: (
            "a Python worker of Spark was killed, as happens when memory runs out: look for the kernel's out-of-memory "
            f"killer in the log of the executor's host. {_MEMORY}"
        ),
    ),
    (_OWN, lambda match: match[1]),
)


def explain_failure(text: str) -> str | None:
    """Return cause and remedy of an error that Spark reported. None if the error is unknown."""
    for pattern, describe in _KNOWN:
        found = pattern.search(text)
        if found:
            return describe(found)
    return None


def describe_failure(text: str) -> str:
    """Return cause and remedy of an error that Spark reported, or at least its first line and its first cause."""
    lines = [line.strip(": ") for line in text.splitlines() if line.strip(": ")] or ["unknown"]
    failed = lines[1] if lines[0].startswith(_CALL) and len(lines) > 1 else lines[0]
    first_cause = next((each.removeprefix(_CAUSED) for each in reversed(lines) if each.startswith(_CAUSED)), "")
    return explain_failure(text) or (failed if first_cause in failed else f"{failed} {_CAUSED}{first_cause}")


def explain_refused_token(text: str) -> str | None:
    """Return cause and remedy if a Spark Connect server refused our token or requires one. Otherwise None."""
    if not _TOKEN.search(text):
        return None
    return (
        "it refuses the token, or requires one: set the environment variable SPARK_CONNECT_AUTHENTICATE_TOKEN for the "
        "task to the server's token (spark.connect.authenticate.token)"
    )
