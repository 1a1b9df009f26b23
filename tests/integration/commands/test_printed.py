# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every printed command runs, word for word, as a shell passes it, from another directory, on a real cluster.

Only names of places differ: what stands between a person and the program is a wrapper that writes the lab's addresses
in place of the documents', and a temporary directory in front of absolute paths.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from lab import Cluster, scenarios
from lab.playbook import PROJECT, PlaybookRun, run_as_a_person
from lab.printed import DOCUMENTS, HEADERS, Printed, printed_by, printed_in, printed_in_header

# All commands of a document are one test.
pytestmark = pytest.mark.timeout(1800)

_RUNBOOK = PROJECT / "docs" / "runbook.md"
_SALVAGE = PROJECT / "docs" / "salvage.md"
_README = PROJECT / "README.md"
_GROUPS = PROJECT / "docs" / "groups.md"
_AFTER_AN_OUTAGE = (_README, _RUNBOOK, _SALVAGE, _GROUPS)
_STILL_OFFLINE = r"partitions? ((is|are) not recovered|needs? attention)"
_ENDS_OTHERWISE = {
    "recover_offline_partitions": _STILL_OFFLINE,
    # Nothing serves metrics here.
    "recover_log_cleaners": r":7071/metrics",
    # The lab has neither these brokers nor this voter.
    "check_stop": r"brokers? 4(, 5| and 5)|no broker is in rack b",
    "replace_controller": r"No voter and no observer has the id 10[23]",
    "check_readiness": r"A recovery would",
    "check_quorum": r"Elections",
    # The lab's controllers run.
    "recover_quorum": r"Refused: .* Nothing needs to be recovered",
}
"""How a run may end with another status than 0: it says what is so on this cluster. Everything else is a defect."""
_ADDRESS = r"\b(?:broker|kafka|controller)\d:909\d"
_ABSOLUTE = r"(?<![\w/}])/(?=(?:etc|srv|var)/)"
_WRAPPER = """\
#!{python}
import os, re, sys
ADDRESSES = {addresses!r}
def placed(word):
    word = re.sub({address!r}, lambda match: ADDRESSES[match[0]], word)
    return re.sub({absolute!r}, {root!r} + "/", word)
words = [placed(each) for each in sys.argv[1:]]
if "playbook" in {program!r} and not any("kafka_bootstrap_servers" in each for each in words):
    words += ["-e", "kafka_bootstrap_servers=" + ADDRESSES["kafka1:9092"]]
os.execv({program!r}, [{program!r}, *words])
"""


class Desk:
    """The directory in which a person stands, with the files that documents mention."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self._directory, self._programs = directory / "desk", directory / "bin"
        root = directory / "root"
        places = ("etc/kafka", "srv/incidents", "srv/kafka-reports", "var/tmp")
        for each in (self._directory, self._programs, *(root / place for place in places)):
            each.mkdir(parents=True)
        (root / "etc/kafka/client.properties").write_text("security.protocol=PLAINTEXT\n")
        (controller, *_others) = cluster.controllers.values()
        (root / "etc/kafka/controller.properties").symlink_to(controller.write_properties())
        (root / "var/lib").mkdir()
        (root / "var/lib/kafka").symlink_to(cluster.brokers[1].data_dirs[0])
        (root / "srv/incidents/2026-01-31").symlink_to(self._directory)
        here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        on_disk = {
            f"controller{each.node_id}": {"quorum_recovery_properties": str(each.write_properties())}
            for each in cluster.controllers.values()
        }
        groups = {
            "kafka": {"hosts": {"kafka1": {}}, "vars": here},
            "kafka_clusters": {"hosts": dict.fromkeys(("orders-eu", "orders-us", "billing")), "vars": here},
            "kafka_controllers": {"hosts": on_disk, "vars": here},
        }
        for name in ("inventory", "inventory.yml"):
            (self._directory / name).write_text(json.dumps(groups))
        selection = {"partitions": [{"topic": "orders", "partition": 0}]}
        (self._directory / "partitions.json").write_text(json.dumps(selection))
        brokers = [*cluster.brokers.values()]
        controllers = [f"{each.host}:{port}" for each in cluster.controllers.values() for port in each.ports.values()]
        self._root = root
        self._addresses = {
            f"{name}{number}:9092": f"{brokers[number - 1].host}:{brokers[number - 1].port}"
            for name in ("broker", "kafka")
            for number in (1, 2, 3)
        } | {f"controller{number}:9093": controllers[(number - 1) % len(controllers)] for number in (1, 2, 3)}
        for name in ("ansible", "ansible-playbook", "ansible-doc"):
            program = str(Path(sys.executable).with_name(name))
            text = _WRAPPER.format(
                python=sys.executable,
                addresses=self._addresses,
                root=str(root),
                program=program,
                address=_ADDRESS,
                absolute=_ABSOLUTE,
            )
            wrapper = self._programs / name
            wrapper.write_text(text)
            wrapper.chmod(0o755)

    def save(self, play: str, name: str) -> str:
        """Save a play of a document as a file, and return the command that runs it in check mode."""
        text = re.sub(_ADDRESS, lambda match: self._addresses[match[0]], play)
        (self._directory / name).write_text(re.sub(_ABSOLUTE, f"{self._root}/", text))
        return f"ansible-playbook -i inventory {name} --check"

    def paste(self, text: str, timeout: float = 240.0) -> PlaybookRun:
        """Run a text in a shell."""
        command = ["bash", "-e", "-u", "-o", "pipefail", "-c", text]
        return run_as_a_person(command, self._directory, timeout, PATH=f"{self._programs}:{os.environ['PATH']}")


def run_all(desk: Desk, commands: Sequence[Printed]) -> str:
    """Run the commands in their order, and return their output. Fails with all commands that do not work."""
    failed, output, seen = [], "", set[str]()
    for each in commands:
        words = " ".join(shlex.split(each.text.rpartition("}\n")[2], comments=True))
        if words in seen and "recover" not in words:
            continue
        seen.add(words)
        run = desk.paste(each.text)
        output += run.output
        (playbook,) = re.findall(r"kafkaops\.recovery\.(\w+)", each.text)[:1] or re.findall(r"(\w+)\.yml", each.text)
        how = _ENDS_OTHERWISE.get(playbook)
        if run.returncode != 0 and not (how is not None and re.search(how, run.words)):
            failed.append(f"{each.where}: {each.text}\nended with {run.returncode}:\n{run.output[-3000:]}")
    assert not failed, "\n\n".join(failed)
    return output


def _with_a_plan() -> list[Printed]:
    """Return the runbook's commands that write a plan and carry it out."""
    return [each for each in printed_in(_RUNBOOK) if "plan" in each.text.rpartition("}\n")[2]]


def test_the_first_commands_in_an_outage(cluster: Cluster, tmp_path: Path) -> None:
    """README's look and election, then the runbook's plan. The first broker that they name is the dead one."""
    offline = scenarios.diverged(cluster, "orders", 3)
    run_all(Desk(cluster, tmp_path), [*printed_in(_README)[:2], *_with_a_plan()])
    assert {each.leader for each in cluster.client.describe("orders", broker=offline.best).values()} == {offline.best}


@pytest.mark.wide
def test_the_runbook(cluster: Cluster, tmp_path: Path) -> None:
    """From the first look to the page."""
    offline = scenarios.diverged(cluster, "orders", 3)
    run_all(Desk(cluster, tmp_path), [*printed_in(_README)[2:], *printed_in(_RUNBOOK)])
    assert {each.leader for each in cluster.client.describe("orders", broker=offline.best).values()} == {offline.best}


@pytest.mark.wide
def test_the_commands_that_runs_print(cluster: Cluster, tmp_path: Path) -> None:
    """What a run prints as the next command is pasted back, and so on, until nothing new is printed."""
    scenarios.diverged(cluster, "orders", 3)
    desk = Desk(cluster, tmp_path)
    look = "ansible-playbook kafkaops.recovery.recover_offline_partitions -e kafka_bootstrap_servers=broker2:9092"
    # The first one is printed, too: "If broker 1 cannot return, add ...".
    waiting, done = [f"{look} -e unclean_recovery_lost_brokers=1", look], list[str]()
    while waiting:
        command = waiting.pop(0)
        done.append(command)
        if "INVENTORY" in command:  # a person replaces what is in capitals
            command = re.sub("INVENTORY", "inventory", command)
            command = re.sub("HOST", "kafka1", command)
            command = command.replace("LOG_DIR", "/var/lib/kafka").replace("NEW_DIR", "/var/tmp/new")
        output = run_all(desk, [Printed("printed by a run", command)])
        waiting += [each for each in printed_by(output) if each not in (*done, *waiting)]
    assert len(done) > 2


@pytest.mark.wide
def test_the_other_commands_of_documents_and_headers(cluster: Cluster, tmp_path: Path) -> None:
    cluster.client.create_topic("orders", {0: (1, 2, 3), 1: (2, 3, 1)})
    desk = Desk(cluster, tmp_path)
    cluster_free = {"incident_report", "renew_plan_digest", "salvage_logs", "replay_salvaged_records", "restore_groups"}
    # What is recorded first can be reported.
    ordered = sorted(HEADERS, key=lambda each: each.stem != "record_cluster")
    headers = [printed_in_header(each) for each in ordered if each.stem not in cluster_free]
    documents = [each for each in DOCUMENTS if each not in _AFTER_AN_OUTAGE]
    plays = [*_plays(desk, leave_out=cluster_free)]
    run_all(desk, [*headers, *plays, *(command for document in documents for command in printed_in(document))])


@pytest.mark.wide
def test_the_commands_for_what_an_outage_left(cluster: Cluster, tmp_path: Path) -> None:
    """Plans, pages, and the disk of a dead broker."""
    scenarios.diverged(cluster, "orders", 3)
    desk = Desk(cluster, tmp_path)
    after = {"incident_report", "renew_plan_digest"}
    headers = [printed_in_header(each) for each in HEADERS if each.stem in after]
    groups = [each for each in HEADERS if each.stem == "restore_groups"]
    of_groups = [*map(printed_in_header, groups), *printed_in(_GROUPS)]
    run_all(desk, [*_with_a_plan(), *headers, *printed_in(_SALVAGE), *of_groups])


def _plays(desk: Desk, *, leave_out: set[str]) -> Iterator[Printed]:
    """Yield the example of each role's README, under the name of a playbook that has this role."""
    shown = set[str]()
    for playbook in HEADERS:
        (role,) = re.findall(r"name: kafkaops\.recovery\.(\w+)", playbook.read_text(encoding="utf-8"))
        readme = PROJECT / "roles" / role / "README.md"
        (example,) = re.findall(r"```yaml\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
        if playbook.stem not in leave_out and role not in shown:
            shown.add(role)
            yield Printed(f"roles/{role}/README.md", desk.save(example, f"{playbook.stem}.yml"))
