# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stands in for PyPA's get-pip.py in ansible-test, which would download it from a host that is no package registry.

ansible-test runs this with get-pip.py's arguments in an empty virtual environment, in an environment of its own making.
"""

from __future__ import annotations

import ensurepip
import os
import ssl
import subprocess
import sys

GET_PIP_ONLY_ARGUMENTS = {"--no-setuptools", "--no-wheel"}
PIP = [sys.executable, "-m", "pip"]


def main() -> int:
    """Install the bundled pip, and with it the version that ansible-test asks for."""
    ensurepip.bootstrap()
    configured = subprocess.run([*PIP, "config", "get", "global.cert"], check=False, capture_output=True)
    authorities = ssl.get_default_verify_paths().cafile
    if configured.returncode != 0 and authorities:
        # The bundled pip trusts its own list only, which lacks a company's certificate authority.
        os.environ["PIP_CERT"] = authorities
    arguments = [argument for argument in sys.argv[1:] if argument not in GET_PIP_ONLY_ARGUMENTS]
    return subprocess.run([*PIP, "install", *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
