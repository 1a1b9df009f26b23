# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run ``ansible-test sanity`` on a copy of this collection: ``run.py [argument of ansible-test sanity ...]``.

ansible-test wants its collection at ``ansible_collections/kafkaops/recovery``, and as a real directory. A clone may be
anywhere, so the files that git knows, or would add, are copied to such a place under ``.cache``.

The tests stay behind: they are not in the artifact, and ruff and mypy check them by stricter rules in less time.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / ".cache" / "sanity" / "ansible_collections" / "kafkaops" / "recovery"
PYTHON_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
PIP_BOOTSTRAP = Path(__file__).with_name("get_pip.py")
# The version in the name follows ansible-core's: see ansible_test/_internal/python_requirements.py, get_venv_packages.
CACHED_PIP_BOOTSTRAP = Path.home() / ".ansible" / "test" / "cache" / "get_pip_24_2.py"

WITHOUT_TESTS = ":(exclude,glob)tests/*/**"
"""As a pathspec of git. It leaves ``tests/config.yml``, which ansible-test reads."""


def copy_collection() -> None:
    """Make ``COPY`` hold exactly the files of the work tree that git does not ignore, without the tests."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", WITHOUT_TESTS],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    shutil.rmtree(COPY, ignore_errors=True)
    for name in filter(None, listed):
        source, target = ROOT / name, COPY / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    # A repository of its own: in the outer one the copy is ignored, and ansible-test goes by that.
    subprocess.run(["git", "init", "--quiet"], cwd=COPY, check=True)


def provide_pip_bootstrap() -> None:
    """Put our pip bootstrap where ansible-test looks before it downloads one, unless there is one already."""
    if not CACHED_PIP_BOOTSTRAP.exists():
        CACHED_PIP_BOOTSTRAP.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PIP_BOOTSTRAP, CACHED_PIP_BOOTSTRAP)


def main() -> int:
    """Copy, prepare and run; return ansible-test's exit status."""
    copy_collection()
    provide_pip_bootstrap()
    command = [
        str(Path(sys.executable).with_name("ansible-test")),
        "sanity",
        "--requirements",
        f"--python={PYTHON_VERSION}",
        "--color=no",
        *sys.argv[1:],
    ]
    return subprocess.run(command, cwd=COPY, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
