# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check the artifact with Galaxy's own importer: an error or a warning of it fails. ``python -m publish [--lint]``.

With ``--lint`` the importer runs ansible-lint, as Galaxy's own does. `make lint` runs it by stricter rules on the files
that the artifact is made of, so that this finds only what is wrong with the choice of them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from publish import artifact

_COMPLAINTS = ("WARNING", "ERROR", "CRITICAL")
_DONE = "Importer processing completed successfully"


def main() -> int:
    """Build and import; return 1 if the importer reports a problem."""
    parser = argparse.ArgumentParser(prog="python -m publish", description="Build the artifact, and import it.")
    parser.add_argument("--lint", action="store_true", help="also run ansible-lint on it, as Galaxy does")
    with_lint = parser.parse_args().lint
    with tempfile.TemporaryDirectory(prefix="kafkaops-publish-") as scratch:
        tarball = artifact.build(Path(scratch))
        # ansible-lint resolves modules in the home directory, where an older copy may be installed: use this copy.
        home = Path(scratch) / "home"
        artifact.install(home / ".ansible" / "collections", tarball)
        # The importer needs ansible-lint and ansible-doc on the PATH, and only warns if they are missing.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        ran = subprocess.run(
            [sys.executable, "-m", "galaxy_importer.main", tarball.name],
            cwd=scratch,
            env={
                **os.environ,
                "HOME": str(home),
                "PATH": path,
                "GALAXY_IMPORTER_ANSIBLE_LOCAL_TMP": f"{scratch}/tmp",
                "GALAXY_IMPORTER_RUN_ANSIBLE_LINT": str(with_lint),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        complaints = [line for line in ran.stdout.splitlines() if line.startswith(_COMPLAINTS)]
        if ran.returncode or complaints or _DONE not in ran.stdout:
            print("\n".join(complaints) or ran.stdout)
            print(f"galaxy-importer does not accept {tarball.name}.")
            return 1
        print(f"galaxy-importer accepts {tarball.name}: {tarball.stat().st_size // 1024} KiB, no error, no warning.")
        return 0


if __name__ == "__main__":
    sys.exit(main())
