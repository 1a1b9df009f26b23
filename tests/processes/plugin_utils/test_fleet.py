# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One table and one page over all clusters of a play, whatever happened on each of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.files import format_document
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.fleet import ClusterState, build_fleet_page
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.template import render_html
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.fleet import Fleet, blocks
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.rendering import rendered
from unit.documents.examples import edited

COLLECTIONS = Path(sys.executable).parents[1] / "collections"
_TABLES, _LINES = "kafkaops.recovery.recovery_tables", "kafkaops.recovery.printed_lines"


def a_fleet() -> Fleet:
    fleet = Fleet()
    files = {"report_file": "/srv/south/report.json", "html": "/srv/south/report.html"}
    fleet.note("south", _TABLES, {"verdict": "No partition is offline.", "invocation": {"module_args": files}})
    fleet.note_failure("east", _TABLES, {"msg": "3 of 9 partitions need attention: 3 refused (orders 0-2)"})
    fleet.note_unreachable("north", {"msg": "no route\nto host"})
    fleet.note("west", "ansible.builtin.set_fact", {"ansible_facts": {"kafka_connection_acting_host": "east"}})
    return fleet


def test_clusters_that_need_somebody_come_first() -> None:
    found = a_fleet().clusters(["west", "south", "east", "north", "unheard"])
    text = rendered(blocks(found), 80, color=False).splitlines()
    assert text[0] == "3 of 4 clusters need you"
    assert [line.split()[:2] for line in text[2:7]] == [
        ["north", "unreachable"],
        ["east", "failed"],
        ["unheard", "failed"],
        ["south", "done"],
        ["west", "left"],
    ]
    assert "3 of 9 partitions need attention:" in text[3]
    assert "no route" in text[2]
    assert "south: /srv/south/report.html" in text
    assert text[-1] == "--limit north,east,unheard"


def test_a_host_without_a_verdict_is_not_green() -> None:
    fleet = Fleet()
    fleet.note("east", "kafkaops.recovery.role_variables", {})
    (found,) = fleet.clusters(["east"])
    assert (found.state, found.verdict) == (ClusterState.FAILED, "the play ended without a verdict")


def test_the_verdict_of_a_play_without_tables_is_the_first_line_that_it_prints() -> None:
    fleet = Fleet()
    fleet.note("east", "kafkaops.recovery.role_variables", {})
    fleet.note("east", _LINES, {"verdict": "Controller 3 is a voter."})
    (found,) = fleet.clusters(["east"])
    assert (found.state, found.verdict) == (ClusterState.DONE, "Controller 3 is a voter.")


def test_a_host_that_left_says_only_that() -> None:
    fleet = Fleet()
    fleet.note("west", "ansible.builtin.set_fact", {"ansible_facts": {"kafka_connection_acting_host": "east"}})
    fleet.note("west", _LINES, {"verdict": "east acts for this cluster"})
    assert [each.state for each in fleet.clusters(["west"])] == [ClusterState.LEFT]


def test_lines_after_tables_are_no_verdict() -> None:
    fleet = Fleet()
    fleet.note("east", _TABLES, {"verdict": "No partition is offline."})
    fleet.note("east", _LINES, {"verdict": "Nothing was changed."})
    assert [each.verdict for each in fleet.clusters(["east"])] == ["No partition is offline."]


def test_a_host_that_stands_for_no_cluster_is_left_out_until_it_does() -> None:
    fleet = Fleet()
    fleet.leave_out("controller1")
    fleet.note("east", _TABLES, {"verdict": "No partition is offline."})
    assert [each.host for each in fleet.clusters(["controller1", "east"])] == ["east"]
    fleet.note("controller1", _TABLES, {"verdict": "The quorum is well."})
    assert [each.host for each in fleet.clusters(["controller1", "east"])] == ["controller1", "east"]


def test_a_play_of_others_has_no_clusters() -> None:
    fleet = Fleet()
    fleet.note("east", "ansible.builtin.ping", {})
    assert fleet.clusters(["east"]) == ()


def test_the_page_links_to_those_of_the_clusters() -> None:
    html = render_html(build_fleet_page(a_fleet().clusters(["south", "<b>"]), "/srv/pages")).decode()
    assert '<a href="../south/report.html">/srv/south/report.html</a>' in html
    assert "<b>" not in html


def run(
    tmp_path: Path,
    hosts: dict[str, Any],
    *more: str,
    playbook: str = "recover_offline_partitions",
    role: str = "unclean_recovery",
) -> subprocess.CompletedProcess[str]:
    """Look at clusters of which no broker answers."""
    inventory = tmp_path / "inventory.json"
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    inventory.write_text(json.dumps({"all": {"hosts": {name: local | each for name, each in hosts.items()}}}))
    return subprocess.run(
        [
            *(Path(sys.executable).with_name("ansible-playbook"), "-i", inventory),
            *(f"kafkaops.recovery.{playbook}", "-e", f"{role}_hosts=all", *more),
        ],
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
            "ANSIBLE_CALLBACKS_ENABLED": "kafkaops.recovery.fleet",
            "KAFKAOPS_FLEET_HTML_DIR": "pages",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )


def test_one_table_and_one_page_where_the_play_failed_on_all_hosts(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    clusters = {"east": {"kafka_bootstrap_servers": "localhost:1"}, "west": {"kafka_bootstrap_servers": "localhost:2"}}
    ran = run(tmp_path, clusters)
    assert "2 of 2 clusters need you" in ran.stdout
    assert "--limit east,west" in ran.stdout
    (page,) = (tmp_path / "pages").iterdir()
    assert f"HTML page of all clusters: {page}" in ran.stdout
    assert "2 of 2 clusters need you" in page.read_text("utf-8")


def test_a_file_that_two_clusters_would_write_is_refused_first(tmp_path: Path) -> None:
    clusters = {"east": {"kafka_bootstrap_servers": "localhost:1"}, "west": {"kafka_bootstrap_servers": "localhost:2"}}
    refused = run(tmp_path, clusters, "-e", "unclean_recovery_report_file=report.json")
    assert f"unclean_recovery_report_file: east, west would all write {tmp_path}/report.json" in refused.stdout
    own = run(tmp_path, clusters, "-e", '{"unclean_recovery_report_file": "{{ inventory_hostname }}.json"}')
    assert "would all write" not in own.stdout
    assert "no broker answered" in own.stdout


def test_a_command_for_one_of_several_clusters_names_its_host(tmp_path: Path) -> None:
    east = {"kafka_bootstrap_servers": "localhost:1"}
    several = run(tmp_path, {"east": east, "west": {"kafka_bootstrap_servers": "localhost:2"}}, "--limit=east", "-v")
    assert '"unclean_recovery_hosts": "east"' in several.stdout
    bastions = run(tmp_path, {"east1": east, "east2": east}, "-v")
    assert '"unclean_recovery_hosts": "all"' in bastions.stdout


def test_a_playbook_without_tables_has_a_verdict(tmp_path: Path) -> None:
    hosts = {}
    for name in ("east", "west"):
        plan = tmp_path / f"{name}.json"
        plan.write_bytes(format_document(edited("partitions", 0, "designatedLeader", to=2, renew=False)))
        hosts[name] = {"unclean_recovery_plan_file": str(plan)}
    ran = run(tmp_path, hosts, playbook="renew_plan_digest")
    assert "Done on all 2 clusters" in ran.stdout, ran.stdout
    assert ran.stdout.count("The plan is consistent, and has 2 elections.") == 4  # printed, and in the table


def test_the_controllers_of_one_cluster_are_no_clusters(tmp_path: Path) -> None:
    properties = {"quorum_recovery_properties": str(tmp_path / "missing.properties")}
    hosts = {"controller1": properties, "controller2": properties}
    ran = run(tmp_path, hosts, playbook="recover_quorum", role="quorum_recovery")
    assert "Choose the log that goes on" in ran.stdout, ran.stdout
    assert "clusters" not in ran.stdout
