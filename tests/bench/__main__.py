# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The benchmarks' command line: ``python -m bench``."""

from __future__ import annotations

import argparse
import os
import pkgutil
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import FrameType

from rich.console import Console

import bench
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import set_collector_thresholds
from bench.kit.report import print_table, write_json
from bench.kit.row import Options, Row

_WIDTH_OF_A_LOG = 140


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks. Returns 0 for any times, and 1 if something could not be measured."""
    chosen = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _exit)
    console = Console(width=None if sys.stdout.isatty() else _WIDTH_OF_A_LOG)
    progress = Console(stderr=True)
    options = Options(chosen.partitions, chosen.repeats)
    load_before = os.getloadavg()[0]
    set_collector_thresholds()  # as in a module
    # Where it is set, each process compiles all of our code again. The Makefile unsets it too.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    results: dict[str, list[Row]] = {}
    failed = []
    # Import all modules first: after a benchmark, the process may be unable to import.
    benchmarks = {name: import_module(f"bench.{name}") for name in chosen.only or _names()}
    for name, benchmark in benchmarks.items():
        rows = results.setdefault(name, [])
        try:
            for row in benchmark.run(options):
                rows.append(row)
                progress.print(f"{name}: {row}", markup=False)
        except Exception:  # noqa: BLE001 - the other benchmarks are worth having all the same
            failed.append(name)
            progress.print_exception()
    load = (load_before, os.getloadavg()[0])
    print_table(console, results, load)
    if chosen.json:
        write_json(chosen.json, results, load)
    if failed:
        progress.print(f"[red]Not measured, or not all of it: {', '.join(failed)}")
    return 1 if failed else 0


def _names() -> list[str]:
    """Return the names of all modules directly in the package, without importing them."""
    return [
        module.name for module in pkgutil.iter_modules(bench.__path__) if not module.ispkg and module.name != "__main__"
    ]


def _exit(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Benchmarks, as ratios.")
    parser.add_argument("--only", action="append", choices=_names(), metavar="NAME", help="one of %(choices)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every time here")
    parser.add_argument("--partitions", type=int, default=Options.partitions, help="default: %(default)s")
    parser.add_argument("--repeats", type=int, default=Options.repeats, help="default: %(default)s")
    return parser


if __name__ == "__main__":
    sys.exit(main())
