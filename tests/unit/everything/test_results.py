# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts of ``make test-all``, and how their results are kept and published."""

from __future__ import annotations

from pathlib import Path

from everything.parts import Part, list_parts
from everything.results import Result, count_tests, read_results, to_markdown, write_results
from lab import versions

_PASSED = Result("salvage-4.3.1", True, "1a2b3c4", "2026-11-28", 300, passed=60, skipped=1)
_FAILED = Result("demo", False, "1a2b3c4+", "2026-11-28", 90)


def test_every_directory_of_broker_tests_is_a_part_on_every_version() -> None:
    parts = [str(each) for each in list_parts()]
    assert len(parts) == len({*parts})
    for version in versions.KAFKA:
        assert f"salvage-{version}" in parts
    # It has no Kafka version of its own.
    assert "kerberos" in parts


def test_what_is_the_same_on_any_version_runs_on_the_first_only() -> None:
    commands = {str(each): each.command for each in list_parts()}
    assert not any(each.startswith("-k") for each in commands["salvage-4.3.1"])
    assert "-k=3.9.2" in commands["salvage-3.9.2"]


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    assert read_results(file) == {}
    results = {each.part: each for each in (_PASSED, _FAILED)}
    write_results(file, results)
    assert read_results(file) == results


def test_tests_are_counted_by_their_outcome(tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    assert count_tests(file) == {}
    file.write_text('<testsuites><testsuite tests="9" failures="1" errors="2" skipped="3"/></testsuites>')
    assert count_tests(file) == {"passed": 3, "failed": 3, "skipped": 3}


def test_the_page_has_what_passed_what_failed_and_what_never_ran() -> None:
    parts = [
        Part("demo", ("make", "demo")),
        Part("docs", ("make", "docs")),
        Part("salvage", ("pytest",), "4.3.1"),
        Part("salvage", ("pytest",), "3.9.2"),
    ]
    page = to_markdown(parts, {each.part: each for each in (_PASSED, _FAILED)})
    assert "1 of 4 parts passed, with 60 tests. Failed: 1; not run yet: 2." in page
    assert "| demo | **failed** (1a2b3c4+, 2026-11-28) |" in page
    assert "| docs |  |" in page
    assert "| directory | 4.3.1 | 3.9.2 |" in page
    assert "| salvage | 60 passed, 1 skipped (1a2b3c4, 2026-11-28) |  |" in page


def test_a_version_without_tests_of_its_own_is_not_said_to_pass() -> None:
    part = Part("publish", ("pytest",), "3.9.2")
    page = to_markdown([part], {str(part): Result(str(part), True, "1a2b3c4", "2026-11-28", 2)})
    assert "| publish | no test (1a2b3c4, 2026-11-28) |" in page
