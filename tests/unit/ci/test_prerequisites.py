# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The check of the programs that the make targets need, with fake programs on the PATH."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / ".ci" / "prerequisites.sh"
EVERYTHING = ("python", "java", "maven", "git")
FAKES = {
    "python3": "#!/bin/sh\nexit 0\n",
    "java": """#!/bin/sh\necho 'openjdk version "17.0.17" 2025-10-21' >&2\n""",
    "mvn": "#!/bin/sh\n",
    "git": "#!/bin/sh\n",
}
OLD_PYTHON = """#!/bin/sh
[ "$1" = --version ] && echo Python 3.9.2
exit 1
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a PATH of one directory: what the script itself runs, and a fake of each program that it looks for."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for tool in ("sh", "sed", "head"):
        (directory / tool).symlink_to(shutil.which(tool) or tool)
    for name, script in FAKES.items():
        fake(directory, name, script)
    return directory


def fake(directory: Path, name: str, script: str) -> None:
    path = directory / name
    path.write_text(script)
    path.chmod(0o755)


def check(
    programs: Path, *wanted: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPT), *wanted],
        env={"PATH": str(programs), **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_is_said_when_all_are_there(programs: Path) -> None:
    result = check(programs, *EVERYTHING)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_everything_that_is_missing_is_named_at_once(programs: Path) -> None:
    for name in FAKES:
        (programs / name).unlink()
    result = check(programs, *EVERYTHING)
    assert result.returncode == 1
    assert result.stderr == (
        "These programs are needed and missing:\n"
        "  - Python 3.11 or newer: there is no python3 on the PATH\n"
        "  - Java 17 or newer: there is no java on the PATH\n"
        "  - Maven, which downloads Apache Kafka for the tests: there is no mvn on the PATH\n"
        "  - git, which lists the files to check: there is no git on the PATH\n"
        "On Debian: apt-get install python3 python3-venv openjdk-17-jre-headless maven git\n"
    )


def test_only_what_was_asked_for_is_looked_for(programs: Path) -> None:
    (programs / "mvn").unlink()
    assert check(programs, "python", "java", "git").returncode == 0


@pytest.mark.parametrize(
    ("name", "script", "words", "package"),
    [
        ("python3", OLD_PYTHON, "python3 is Python 3.9.2; choose another one by PYTHON=...", "python3 python3-venv"),
        (
            "python3",
            '#!/bin/sh\ncase "$2" in *ensurepip*) exit 1;; esac\n',
            "Python's modules venv and ensurepip",
            "python3-venv",
        ),
        (
            "java",
            """#!/bin/sh\necho 'java version "1.8.0_402"' >&2\n""",
            "java is version 1",
            "openjdk-17-jre-headless",
        ),
        ("java", "#!/bin/sh\nexit 1\n", "java is version unknown", "openjdk-17-jre-headless"),
    ],
    ids=["old Python", "Debian's Python without venv", "Java 8", "Java that does not start"],
)
def test_what_is_too_old_counts_as_missing(programs: Path, name: str, script: str, words: str, package: str) -> None:
    fake(programs, name, script)
    result = check(programs, *EVERYTHING)
    assert result.returncode == 1
    assert words in result.stderr
    assert result.stderr.endswith(f"On Debian: apt-get install {package}\n")


def test_python_and_java_home_are_respected(programs: Path, tmp_path: Path) -> None:
    fake(programs, "python3.12", FAKES["python3"])
    (programs / "python3").unlink()
    (programs / "java").unlink()
    result = check(programs, "python", "java", environment={"PYTHON": "python3.12", "JAVA_HOME": str(tmp_path)})
    assert result.returncode == 1
    assert "Python" not in result.stderr
    assert f"there is no {tmp_path}/bin/java to which JAVA_HOME leads" in result.stderr
