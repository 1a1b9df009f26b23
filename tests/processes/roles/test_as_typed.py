# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What ansible-playbook hands on to a role, and what it shows of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from unit.roles.role import options
from unit.roles.spellings import rounds
from unit.roles.test_readmes import example

COLLECTIONS = Path(sys.executable).parents[1] / "collections"


def ansible(directory: Path, role: str, variables: Mapping[str, object]) -> dict[str, Any]:
    """Return what role_variables returned in a play that was started in this directory."""
    play = directory / "plays" / "play.yml"
    play.parent.mkdir(exist_ok=True)
    tasks = [
        {"kafkaops.recovery.role_variables": {"role": role}, "register": "result"},
        {"ansible.builtin.copy": {"content": "{{ result | to_json }}", "dest": str(directory / "result.json")}},
    ]
    play.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    command = [str(Path(sys.executable).with_name("ansible-playbook")), str(play), "-e", json.dumps(variables)]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1"}
    ran = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    returned: dict[str, Any] = json.loads((directory / "result.json").read_text("utf-8"))
    return returned


@pytest.mark.parametrize("number", range(2))
def test_ansible_hands_on_what_was_typed(number: int, tmp_path: Path) -> None:
    """Strings and native values, templated by the ansible-core that runs here (tests/matrix has the other ones)."""
    role = "unclean_recovery"
    typed, meant = [*rounds(role)][number]
    result = ansible(tmp_path, role, typed)
    values = {f"{role}_{name}": value for name, value in result["options"].items()}
    for group in ("kafka", "controllers", "journal"):
        values |= {f"kafka_{name}": value for name, value in result[group].items()}
    secret = {name for name, spec in options(role).items() if spec.get("no_log")}
    expected = {
        name: f"{tmp_path}{str(value).removeprefix('/start')}" if str(value).startswith("/start") else value
        for name, value in meant.items()
    }
    assert values == {name: value for name, value in expected.items() if name not in secret}


def test_a_command_repeats_a_default_that_was_typed_over_an_inventory(tmp_path: Path) -> None:
    """Without it, the command would not save records that the run saves."""
    (tmp_path / "plays" / "host_vars").mkdir(parents=True)
    set_there = {"unclean_recovery_salvage": "off", "unclean_recovery_proof": "accept"}
    (tmp_path / "plays" / "host_vars" / "localhost.json").write_text(json.dumps(set_there))
    result = ansible(tmp_path, "unclean_recovery", {"unclean_recovery_salvage": "best_effort"})
    assert result["variables"] == {"unclean_recovery_salvage": "best_effort", "unclean_recovery_proof": "accept"}


def checked_as_typed(directory: Path, *typed: str, more: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Check the variables of unclean_recovery that are typed, each behind -e."""
    play = directory / "play.yml"
    tasks = [{"kafkaops.recovery.role_variables": {"role": "unclean_recovery"}}]
    play.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    command = [str(Path(sys.executable).with_name("ansible-playbook")), str(play)]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1"}
    words = [word for each in typed for word in ("-e", each)]
    return subprocess.run([*command, *words, *more], env=environment, capture_output=True, text=True, check=False)


def test_a_value_that_ansible_cuts_at_a_space_is_refused(tmp_path: Path) -> None:
    """What comes after the space may be a topic to recover, or a part of a password: it is refused, and not printed."""
    for typed in ("unclean_recovery_partitions=orders:0 payments", "kafka_sasl_password=one payments"):
        ran = checked_as_typed(tmp_path, typed)
        assert ran.returncode == 2, ran.stdout
        assert "a value of -e has a space" in ran.stdout + ran.stderr
        assert " payments" not in (ran.stdout + ran.stderr).replace("0,3,payments", "")


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("redundancy_throttle_bytes_per_second=10MB", "redundancy_throttle_bytes_per_second: 10MB is not a whole"),
        ("redundancy_throttle_bytes_per_secnd=1000000", "did you mean redundancy_throttle_bytes_per_second?"),
        ("redundancy_plan_file=", "redundancy_plan_file is empty"),
    ],
)
def test_what_restores_redundancy_afterwards_is_checked_before_the_elections(
    typed: str, why: str, tmp_path: Path
) -> None:
    recovery = '{"unclean_recovery_then_restore_redundancy": "yes", "unclean_recovery_lost_brokers": "1"}'
    ran = checked_as_typed(tmp_path, recovery, typed)
    assert ran.returncode == 2, ran.stdout
    assert why in ran.stdout + ran.stderr
    assert (ran.stdout + ran.stderr).count("Nothing was read or changed") == 1
    assert checked_as_typed(tmp_path, typed).returncode == 0


def test_a_report_on_redundancy_that_cannot_be_written_is_refused_before_the_elections(tmp_path: Path) -> None:
    given = {
        "kafka_bootstrap_servers": "127.0.0.1:1",
        "unclean_recovery_all_offline_partitions": True,
        "unclean_recovery_automated_recovery": True,
        "unclean_recovery_then_restore_redundancy": True,
        "unclean_recovery_lost_brokers": [1],
        "redundancy_report_file": "/nonexistent/r.json",
        "redundancy_report_html": str(tmp_path),
    }
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "kafkaops.recovery.recover_offline_partitions"]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1"}
    command += ["-e", json.dumps(given)]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "redundancy_report_file: /nonexistent/r.json" in ran.stdout
    assert f"redundancy_report_html: {tmp_path}" in ran.stdout
    assert "Nothing was read or changed." in ran.stdout


@pytest.mark.parametrize("secret", ["hunter2{{b", "{{ hunter2 }}", "{% hunter2", "hun{# ter2", "{{ hunter2 hunter2 }}"])
def test_a_secret_that_ansible_cannot_evaluate_is_named_and_not_shown(secret: str, tmp_path: Path) -> None:
    """Ansible's own error shows the line of the file with the secret."""
    file = tmp_path / "secrets.yml"
    file.write_text(json.dumps({"kafka_sasl_password": secret, "kafka_sasl_username": "{{ nobody }}"}))
    ran = checked_as_typed(tmp_path, f"@{file}")
    shown = ran.stdout + ran.stderr
    assert ran.returncode == 2, shown
    assert "kafka_sasl_password cannot be evaluated: it holds {{, {% or {#" in shown
    assert "kafka_sasl_username: " in shown
    assert "hun" not in shown


def test_a_password_in_any_url_is_refused_before_a_result_shows_it(tmp_path: Path) -> None:
    url = "https://u:hunter2@h/x"
    given = {
        "kafka_bootstrap_servers": ["kafka1:9092", "u:hunter2@kafka2:9092"],
        "kafka_sasl_oauthbearer_token_endpoint_url": url,
        "unclean_recovery_evidence_dir": url,
        "unclean_recovery_spark": {"remote": url},
        "unclean_recovery_wait_ms": url,
    }
    ran = checked_as_typed(tmp_path, json.dumps(given), more=["-vvv"])
    shown = ran.stdout + ran.stderr
    assert ran.returncode == 2, shown
    assert all(f"{name} has an address or a URL with a password" in shown for name in given)
    assert "hunter2" not in shown


def test_without_the_library_that_prints_the_result_nothing_is_changed(tmp_path: Path) -> None:
    """Modules on another host have their own libraries there: the elections would be done, and not printed."""
    play = tmp_path / "play.yml"
    tasks = [{"kafkaops.recovery.role_variables": {"role": "unclean_recovery"}}]
    play.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['rich'] = None\n")
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "PYTHONPATH": str(tmp_path)}
    command = [str(Path(sys.executable).with_name("ansible-playbook")), str(play)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "which runs Ansible, lacks rich, without which no result can be printed: install it (" in ran.stdout
    assert "Nothing was read or changed." in ran.stdout


LIMIT = "unclean_recovery_max_lost_records"


@pytest.mark.parametrize(
    ("typed", "is_refused"),
    [
        ([f"{LIMIT}="], True),
        (["unclean_recovery_wait_ms=3 unclean_recovery_plan_digest=''"], True),
        ([json.dumps({LIMIT: ""})], True),
        ([json.dumps({LIMIT: None})], True),
        ([json.dumps({LIMIT: "{{ nobody | default('') }}"})], True),
        ([json.dumps({LIMIT: "{{ nobody | default(omit) }}"})], False),
        ([json.dumps({LIMIT: "", "awx_job_id": 7})], False),
        (["kafka_command_config="], False),
    ],
)
def test_an_empty_value_lifts_no_limit(typed: list[str], is_refused: bool, tmp_path: Path) -> None:
    """Only AWX passes an empty value on purpose: an unanswered question of a survey."""
    ran = checked_as_typed(tmp_path, "kafka_bootstrap_servers=kafka1:9092", *typed)
    assert (ran.returncode, "is empty: give a value, or leave it out." in ran.stdout + ran.stderr) == (
        (2, True) if is_refused else (0, False)
    )


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({LIMIT: ""}, f"{LIMIT} is empty"),
        ({"unclean_recovry_max_lost_records": 0}, f"did you mean {LIMIT}?"),
        ({"unclean_recovery_max_lost_record": 0}, f"did you mean {LIMIT}?"),
    ],
)
@pytest.mark.parametrize("source", ["play", "file", "host", "fact"])
def test_it_does_not_matter_where_a_limit_is_set(
    source: str, variables: dict[str, object], why: str, tmp_path: Path
) -> None:
    play = tmp_path / "play.yml"
    checks: dict[str, Any] = {"kafkaops.recovery.role_variables": {"role": "unclean_recovery"}}
    written: dict[str, Any] = {"hosts": "localhost", "gather_facts": False, "tasks": [checks]}
    if source == "play":
        written["vars"] = variables
    elif source == "file":
        written["vars_files"] = ["set.yml"]
        (tmp_path / "set.yml").write_text(json.dumps(variables))
    elif source == "host":
        (tmp_path / "host_vars").mkdir()
        (tmp_path / "host_vars" / "localhost.json").write_text(json.dumps(variables))
    else:
        written["tasks"] = [{"ansible.builtin.set_fact": variables}, checks]
    play.write_text(json.dumps([written]))
    command = [str(Path(sys.executable).with_name("ansible-playbook")), str(play)]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert why in ran.stdout
    assert ran.stdout.count("Nothing was read or changed.") == 1


@pytest.mark.parametrize(
    "runs",
    [
        {"roles": ["kafkaops.recovery.unclean_recovery"]},
        {"tasks": [{"ansible.builtin.include_role": {"name": "kafkaops.recovery.unclean_recovery"}}]},
        {"tasks": [{"ansible.builtin.import_role": {"name": "kafkaops.recovery.unclean_recovery"}}]},
    ],
)
def test_however_a_play_runs_a_role_only_the_role_checks_its_variables(runs: dict[str, Any], tmp_path: Path) -> None:
    """Ansible would refuse ``1-2``, and print 467 lines for ``soon``."""
    play = tmp_path / "play.yml"
    play.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, **runs}]))
    command = [str(Path(sys.executable).with_name("ansible-playbook")), str(play)]
    command += ["-e", "unclean_recovery_lost_brokers=1-2 unclean_recovery_wait_ms=soon"]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert '"msg": "unclean_recovery_wait_ms: soon is not a whole number. Nothing was read or changed."' in ran.stdout
    assert len(ran.stdout) < 1500


def test_the_play_of_a_readme_reads_what_is_typed_and_names_a_slip_in_one_line(tmp_path: Path) -> None:
    play = tmp_path / "play.yml"
    play.write_text(json.dumps([example("stop_gate") | {"vars": {"kafka_bootstrap_servers": "127.0.0.1:1"}}]))
    command = [str(Path(sys.executable).with_name("ansible-playbook")), str(play), "-e", "stop_gate_brokers=4-5"]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1"}

    def run(*more: str) -> str:
        ran = subprocess.run([*command, *more], env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 2
        return ran.stdout

    assert "no broker answered" in run()
    refused = run("-e", "stop_gate_minutes=soon")
    assert "stop_gate_minutes: soon is not a whole number. Nothing was read or changed." in refused
    assert len(refused) < 1500
