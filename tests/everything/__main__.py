# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the parts of ``make test-all`` that have not passed on this commit: ``python -m everything``.

A run that is interrupted is resumed by the same command. ``--keep`` also resumes what passed on an older commit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path

from everything.parts import Part, list_parts
from everything.results import Result, count_tests, read_results, to_markdown, write_results
from lab.commit import commit_on_trial
from lab.playbook import PROJECT

_RESULTS = PROJECT / "tests" / "everything" / "results.json"
_PAGE = PROJECT / "docs" / "test_all.md"
_LOGS = PROJECT / ".cache" / "test-all"
_SHOWN_LINES = 40
_NO_TESTS = 5
"""pytest's exit status if a directory has no test for a version."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts. Returns 1 if one of those that were asked for has not passed."""
    chosen = _parser().parse_args(arguments)
    parts = [*list_parts()]
    asked = [each for each in parts if not chosen.only or any(text in str(each) for text in chosen.only)]
    results, commit = read_results(_RESULTS), commit_on_trial(_RESULTS, _PAGE)

    def is_done(part: Part) -> bool:
        result = results.get(str(part))
        return result is not None and result.has_passed and (chosen.keep or result.commit == commit)

    left = [each for each in asked if not is_done(each)]
    print(f"{len(left)} of {len(asked)} parts are left; logs are in {_LOGS}", flush=True)
    _LOGS.mkdir(parents=True, exist_ok=True)
    executor = ThreadPoolExecutor(chosen.jobs, thread_name_prefix="part")
    try:
        for done in as_completed([executor.submit(_run, each, commit) for each in left]):
            result = done.result()
            results[result.part] = result
            write_results(_RESULTS, {str(each): results[str(each)] for each in parts if str(each) in results})
            _PAGE.write_text(to_markdown(parts, results), encoding="utf-8")
            _print(result)
    finally:
        # After Ctrl-C, which the running parts get, too, no other one begins.
        executor.shutdown(cancel_futures=True)
    failed = [str(each) for each in asked if not results[str(each)].has_passed]
    print(f"failed: {', '.join(failed)}" if failed else f"all {len(asked)} parts passed")
    return 1 if failed else 0


def _run(part: Part, commit: str) -> Result:
    """Run one part. Its output goes to a file of its own."""
    program, *options = part.command
    report = _log(str(part)).with_suffix(".xml")
    report.unlink(missing_ok=True)
    if part.is_pytest:
        command = [sys.executable, "-m", program, *options, f"--junitxml={report}"]
    else:
        command = [program, *options]
    # A make above this one would give its own variables to the targets.
    environment = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MFLAGS"}}
    began = time.monotonic()
    with _log(str(part)).open("wb") as log:
        ran = subprocess.run(command, cwd=PROJECT, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False)
    return Result(
        str(part),
        ran.returncode in ({0, _NO_TESTS} if part.is_pytest else {0}),
        commit,
        datetime.now(UTC).date().isoformat(),
        round(time.monotonic() - began),
        **count_tests(report),
    )


def _print(result: Result) -> None:
    print(f"{result.part}: {'passed' if result.has_passed else 'FAILED'}, {result.seconds} s", flush=True)
    if not result.has_passed:
        log = _log(result.part)
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        print(*lines[-_SHOWN_LINES:], f"The whole output is in {log}", sep="\n", flush=True)


def _log(part: str) -> Path:
    return _LOGS / f"{part}.log"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m everything", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="how many parts at a time; each needs 3 GiB (default: 2)")
    parser.add_argument("--only", action="append", metavar="TEXT", help="only parts whose name has this in it")
    parser.add_argument("--keep", action="store_true", help="do not run again what passed on an older commit")
    return parser


if __name__ == "__main__":
    sys.exit(main())
