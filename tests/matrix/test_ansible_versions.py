# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each supported release line of ansible-core and of Python, with only meta/, plugins/, roles/ and playbooks/.

Part of ``make test-all``. Each line has a virtual environment of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import pytest

from lab import Cluster
from lab.every_playbook import run_every_playbook
from publish.installation import Installation, installed, interpreter
from unit.roles.role import CONNECTIONS
from unit.roles.spellings import CHECKED, rounds

pytestmark = pytest.mark.timeout(1200)

# ansible-core 2.18 and 2.19 run on Python 3.11 to 3.13, and 2.20 and 2.21 on 3.12 to 3.14.
LINES = [("2.18", "3.11"), ("2.19", "3.12"), ("2.20", "3.12"), ("2.21", "3.13")]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Start one for each line: a replay creates internal topics, which lose their leader with the next topic."""
    with Cluster(controllers=3, dynamic_quorum=True) as started:
        yield started


@pytest.fixture(scope="module", params=LINES, ids=["-".join(each) for each in LINES])
def installation(request: pytest.FixtureRequest) -> Iterator[Installation]:
    ansible_core, python = request.param
    with installed(interpreter(python), ansible_core, only_the_kept=True) as made:
        assert f"core {ansible_core}." in made.output("ansible-playbook", "--version")
        yield made


def test_every_playbook(cluster: Cluster, installation: Installation, tmp_path: Path) -> None:
    run_every_playbook(installation.run, cluster, f"lost-{installation.directory.name}", tmp_path)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"stop_gate_minutes": "soon"}, "stop_gate_minutes: soon is not a whole number"),
        # The task of this module has failed_when.
        ({"kafka_bootstrap_servers": "127.0.0.1:1", "stop_gate_brokers": "1"}, "no broker answered"),
    ],
)
def test_a_failure_is_printed_once(variables: dict[str, object], message: str, installation: Installation) -> None:
    """ansible-core 2.19 to 2.21 would also print it as an error with lines of the role, each in its own way."""
    ran = installation.run("kafkaops.recovery.check_stop", variables)
    assert ran.returncode == 2
    assert "[ERROR]" not in ran.output
    assert message in ran.output


def test_every_spelling_of_every_variable(installation: Installation) -> None:
    """An option has the same value however it was typed, with this ansible-core's templates and conditions.

    Each run has the variables of all roles: their prefixes differ, and a run for each role would take an hour.
    """
    directory = installation.directory
    play, read = directory / "spellings.yml", directory / "result.json"
    tasks = [{"kafkaops.recovery.role_variables": {"role": role}, "register": f"__of_{role}"} for role in CHECKED]
    content = f"{{{{ {{ {', '.join(f'{role!r}: __of_{role}' for role in CHECKED)} }} | to_json }}}}"
    tasks.append({"ansible.builtin.copy": {"content": content, "dest": str(read)}})
    play.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]), encoding="utf-8")
    typed: dict[str, object] = {}
    meant: dict[str, object] = {}
    for row in zip_longest(*map(rounds, CHECKED)):
        # A role whose spellings are all tried keeps its last ones.
        for given, values in filter(None, row):
            typed |= given
            meant |= values
        ran = installation.run(str(play), typed)
        assert ran.returncode == 0, ran.output
        for role, result in json.loads(read.read_text(encoding="utf-8")).items():
            own = {f"{role}_{name}": value for name, value in result["options"].items()}
            shared = {f"kafka_{name}": result[group][name] for group in CONNECTIONS for name in result[group]}
            for name, value in {**own, **shared}.items():
                wanted = meant[name]
                if isinstance(wanted, str) and wanted.startswith("/start"):
                    wanted = f"{directory}{wanted.removeprefix('/start')}"
                assert value == wanted, (role, name, typed[name])
