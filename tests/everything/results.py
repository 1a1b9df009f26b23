# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each part of ``make test-all`` found: kept in a file, and published in docs/test_all.md."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from everything.parts import Part

_HEAD = """\
# The last results of `make test-all`

`make test-all` writes this page. The whole takes hours and is done in pieces, so each part names the commit that it ran
on ([testing.md](testing.md)). A plus sign means changes that were not committed. Times are beside other parts.
"""


@dataclass(frozen=True, slots=True)
class Result:
    """What one part found."""

    part: str
    has_passed: bool
    commit: str
    """With a plus sign, the code had changes that were not committed."""
    date: str
    seconds: int
    passed: int = 0
    failed: int = 0
    skipped: int = 0


def read_results(path: Path) -> dict[str, Result]:
    """Return the results of earlier runs by part; none if there is no file."""
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return {each["part"]: Result(**each) for each in written}


def write_results(path: Path, results: Mapping[str, Result]) -> None:
    """Write all results."""
    path.write_text(json.dumps([asdict(each) for each in results.values()], indent=1) + "\n", encoding="utf-8")


def count_tests(path: Path) -> dict[str, int]:
    """Return how many tests passed, failed and were skipped by pytest's JUnit XML. Empty without a file."""
    if not path.exists():
        return {}
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for suite in ET.parse(path).getroot().iter("testsuite"):
        for name in totals:
            totals[name] += int(suite.get(name, 0))
    failed = totals["failures"] + totals["errors"]
    return {"passed": totals["tests"] - failed - totals["skipped"], "failed": failed, "skipped": totals["skipped"]}


def to_markdown(parts: Sequence[Part], results: Mapping[str, Result]) -> str:
    """Return the page: the targets, and a row of each directory for all Kafka versions. What never ran is empty."""
    known = [results[str(each)] for each in parts if str(each) in results]
    passed = sum(each.has_passed for each in known)
    tests = sum(each.passed for each in known)
    lines = [
        _HEAD,
        f"{passed} of {len(parts)} parts passed, with {tests:,} tests. Failed: {len(known) - passed}; "
        f"not run yet: {len(parts) - len(known)}.",
        "",
        "| target of the Makefile | result |",
        "|---|---|",
        *(f"| {each} | {_cell(results.get(str(each)))} |" for each in parts if not each.kafka_version),
        "",
        "Tests on brokers, by directory. What does not depend on the version runs on the first one.",
        "",
        *_of_brokers([each for each in parts if each.kafka_version], results),
    ]
    return "\n".join(lines) + "\n"


def _of_brokers(parts: Sequence[Part], results: Mapping[str, Result]) -> Iterator[str]:
    versions = [*dict.fromkeys(each.kafka_version for each in parts)]
    yield f"| directory | {' | '.join(versions)} |"
    yield "|---|" + "---|" * len(versions)
    for name, of_name in groupby(sorted(parts, key=lambda each: each.name), key=lambda each: each.name):
        cells = {each.kafka_version: _cell(results.get(str(each)), without_tests="no test") for each in of_name}
        yield f"| {name} | {' | '.join(cells.get(each, '') for each in versions)} |"


def _cell(result: Result | None, without_tests: str = "passed") -> str:
    if result is None:
        return ""
    failed = f"{result.failed} failed" if result.failed else "failed"
    texts = (
        f"{result.passed} passed" if result.passed else "",
        "" if result.has_passed else f"**{failed}**",
        f"{result.skipped} skipped" if result.skipped else "",
    )
    return f"{', '.join(filter(None, texts)) or without_tests} ({result.commit}, {result.date})"
