# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The mutation tests' command line: ``python -m mutation``. Needs cosmic-ray in this Python."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome

from mutation.targets import OPERATORS, TARGETS

_PROJECT = Path(__file__).resolve().parents[2]
_PYTHON = _PROJECT / ".venv" / "bin" / "python"
_WANTED = 95
"""Of a hundred mutants of a file that are not equivalent, how many its tests must detect. The others are listed."""
_TIMEOUT_S = 120
"""The time limit for the tests of one mutant. It ends mutants that loop forever."""
_CONFIG = """\
[cosmic-ray]
module-path = "{module}"
timeout = {timeout}
excluded-modules = []
test-command = "{python} -B -m pytest -x -q -p no:cacheprovider --no-header {tests}"

[cosmic-ray.distributor]
name = "local"
"""


@dataclass(frozen=True)
class Survivor:
    """A change of the code that no test detected."""

    line: int
    operator: str
    diff: str


@dataclass(frozen=True)
class Result:
    """The results of the mutants of one file."""

    module: str
    mutants: int
    survivors: tuple[Survivor, ...]
    equivalent: int
    """How many other mutants survived that are listed as equivalent."""
    unmatched: tuple[str, ...]
    """Lines that are listed as equivalent, but are in no mutant."""

    @property
    def killed(self) -> int:
        return self.mutants - len(self.survivors) - self.equivalent

    @property
    def share(self) -> int:
        """Killed ones of a hundred that are not equivalent."""
        return self.killed * 100 // max(1, self.mutants - self.equivalent)

    def __str__(self) -> str:
        return (
            f"{self.module}: {self.killed} of {self.mutants} mutants killed, {self.equivalent} named as equivalent, "
            f"{len(self.survivors)} left ({self.share} % killed of those that are not equivalent)"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Mutate the files.

    Returns 1 when too few mutants of a file were killed, or when mutation/targets.py names one that is not there.
    """
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if nowhere := [part for part in chosen.only or () if not any(part in each for each in TARGETS)]:
        parser.error(f"no target has {', '.join(nowhere)} in its path")
    modules = [each for each in TARGETS if not chosen.only or any(part in each for part in chosen.only)]
    with ThreadPoolExecutor(max_workers=chosen.jobs) as pool:
        # Each result is printed as soon as it is there: a run takes long, and may be stopped.
        are_good = [_report(each) for each in as_completed([pool.submit(_mutate, module) for module in modules])]
    return 0 if all(are_good) else 1


def _report(done: Future[Result]) -> bool:
    """Print the result of one file, and return whether enough of its mutants were killed."""
    try:
        result = done.result()
    except RuntimeError as error:
        _print(str(error))
        return False
    _print(str(result))
    for each in result.survivors:
        _print(f"  line {each.line}, {each.operator}:\n{each.diff}")
    for line in result.unmatched:
        _print(f"  error: mutation/targets.py names as equivalent what is in no mutant: {line}")
    return result.share >= _WANTED and not result.unmatched


def _mutate(module: str) -> Result:
    """Mutate one file in a copy of the tree: cosmic-ray changes files in place."""
    with tempfile.TemporaryDirectory(prefix="kafkaops-mutants-") as name:
        copy = _copy(Path(name) / "tree")
        config, database = Path(name) / "config.toml", Path(name) / "session.sqlite"
        config.write_text(
            _CONFIG.format(module=module, timeout=_TIMEOUT_S, python=_PYTHON, tests=" ".join(TARGETS[module].tests)),
            encoding="utf-8",
        )
        _cosmic_ray(copy, "baseline", config)
        _cosmic_ray(copy, "init", config, database)
        with use_db(str(database), WorkDB.Mode.open) as work:
            _keep_only_chosen_operators(work)
        _cosmic_ray(copy, "exec", config, database)
        with use_db(str(database), WorkDB.Mode.open) as work:
            survived = [*_survivors(work)]
            target = TARGETS[module]
            left = tuple(each for each in survived if not target.is_equivalent(each.diff))
            unmatched = target.unmatched([result.diff or "" for _item, result in work.completed_work_items])
            return Result(module, work.num_results, left, len(survived) - len(left), unmatched)


def _copy(tree: Path) -> Path:
    """Copy what git knows, and make it importable as the collection."""
    tree.mkdir()
    files = subprocess.run(
        ["git", "-C", _PROJECT, "ls-files", "-z"], capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for each in filter(None, files):
        (tree / each).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(_PROJECT / each, tree / each)
    collections = tree / ".venv" / "collections" / "ansible_collections" / "kafkaops"
    collections.mkdir(parents=True)
    (collections / "recovery").symlink_to(tree)
    return tree


def _cosmic_ray(copy: Path, *command: str | Path) -> None:
    """Run a command of cosmic-ray. Raises RuntimeError with its output if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "cosmic_ray.cli", *map(str, command)],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{copy}: cosmic-ray {command[0]} failed:\n{done.stdout}{done.stderr}")


def _keep_only_chosen_operators(work: WorkDB) -> None:
    """Drop the mutants of other operators: several variants of one comparison are killed by the same test."""
    items = [each for each in work.pending_work_items if all(one.operator_name in OPERATORS for one in each.mutations)]
    work.clear()
    work.add_work_items(items)


def _survivors(work: WorkDB) -> Iterator[Survivor]:
    for item in work.completed_work_items:
        job, result = item
        if result.test_outcome is TestOutcome.SURVIVED:
            (mutation,) = job.mutations
            changed = [line for line in (result.diff or "").splitlines() if line[:1] in "+-" and line[:3] not in _HEADS]
            yield Survivor(mutation.start_pos[0], mutation.operator_name, "\n".join(changed))


_HEADS = ("+++", "---")


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mutation", description=__doc__)
    parser.add_argument("--only", action="append", metavar="TEXT", help="only files whose path has this in it")
    parser.add_argument("--jobs", type=int, default=2, help="how many files at once (default: 2)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
