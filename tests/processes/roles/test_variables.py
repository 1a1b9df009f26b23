# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever is typed for a variable of a role: no option depends on its spelling, and no wrong name is ignored."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.role_variables import (
    VariablesError,
    checked,
    unknown,
    with_slips,
)
from unit.roles.role import ROLES, options, specs
from unit.roles.spellings import CHECKED, spellings


def at_start(path: str) -> str:
    return str(Path("/start") / path)


@pytest.mark.parametrize("role", CHECKED)
def test_every_spelling_of_every_option_has_the_value_that_it_means(role: str) -> None:
    for name, spec in options(role).items():
        for typed, meant in spellings(spec):
            value = checked({name: spec}, {name: typed}, at_start)[name]
            assert (value, type(value)) == (meant, type(meant)), (name, typed)


@pytest.mark.parametrize("role", CHECKED)
def test_an_empty_variable_counts_as_not_given(role: str) -> None:
    optional = {name: {**spec, "required": False} for name, spec in options(role).items()}
    given = checked(optional, dict.fromkeys(optional, ""), at_start)
    defaults = {name: spec["default"] for name, spec in optional.items() if "default" in spec}
    assert given == {
        name: at_start(value) if optional[name]["type"] == "path" else value for name, value in defaults.items()
    }


@pytest.mark.parametrize(
    ("typed", "ids"),
    [("controller", []), ("4,controller", [4]), (["Controller", 4], [4]), ("[controller, 4-5]", [4, 5]), ("4", None)],
)
def test_the_word_controller_among_drained_brokers_follows_the_active_controller(
    typed: object, ids: list[int] | None
) -> None:
    values = checked(options("leadership_drain"), {"leadership_drain_brokers": typed}, at_start)
    assert values.get("leadership_drain_brokers", []) == ([4] if ids is None else ids)
    assert values["leadership_drain_active_controller"] is (ids is not None)


def test_a_restore_of_the_controller_is_no_restore_of_all_brokers() -> None:
    given = {"leadership_drain_brokers": "controller", "leadership_drain_state": "absent"}
    with pytest.raises(VariablesError, match="leadership_drain_brokers: controller is not a whole number"):
        checked(options("leadership_drain"), given, at_start)


def test_a_range_that_ends_before_it_begins_is_a_problem_among_others() -> None:
    given = {"leadership_drain_brokers": "controller,3-1", "leadership_drain_max_moves": "many"}
    with pytest.raises(VariablesError, match=r"leadership_drain_brokers: controller,3-1 has 3-1.*; .*max_moves: many"):
        checked(options("leadership_drain"), given, at_start)


MEANS_NONE = {
    "controller_replacement_endpoints",  # then those of the voter
    "group_recovery_overwrite_groups",
    *("incident_report_approvals", "incident_report_files"),
    *("kafka_bootstrap_servers", "kafka_bootstrap_controllers"),
    *("quorum_recovery_answered_by_others", "quorum_recovery_lost_voters"),
    *("redundancy_deprioritized_brokers", "redundancy_lost_brokers"),
    *("stop_gate_brokers", "stop_gate_racks", "stop_gate_sets"),
    "unclean_recovery_lost_brokers",
}
"""Lists without which a run does less, or names nothing to do."""
REFUSED_BY_THE_MODULE = {
    *("group_recovery_groups", "group_recovery_salvage_dir", "log_salvage_log_dirs", "log_salvage_topics"),
    *("redundancy_partitions", "salvage_replay_topics", "unclean_recovery_designations", "unclean_recovery_partitions"),
}


@pytest.mark.parametrize("role", CHECKED)
@pytest.mark.parametrize("typed", [[], "[]", ",", " "])
def test_an_empty_list_never_means_all(role: str, typed: object) -> None:
    """It was computed, or is ``$A,$B`` of two variables of the shell that are not set."""
    for name, spec in options(role).items():
        if spec["type"] == "list":
            if name in MEANS_NONE | REFUSED_BY_THE_MODULE:
                assert checked({name: spec}, {name: typed}, at_start) == {name: []}
            else:
                with pytest.raises(VariablesError, match=f"{name}: .* is an empty list, which would mean all"):
                    checked({name: spec}, {name: typed}, at_start)


@pytest.mark.parametrize("name", sorted(REFUSED_BY_THE_MODULE))
def test_a_role_hands_an_empty_list_on_to_the_module(name: str) -> None:
    """``default(omit, true)`` would take it for "not given", which is all."""
    role = next(each for each in CHECKED if name in specs(each))
    read = re.findall(
        rf"__{role}_checked\.options\.{name.removeprefix(f'{role}_')} *(\| *default[^}}]*)?\}}\}}",
        "".join(each.read_text("utf-8") for each in (ROLES / role / "tasks").glob("*.yml")),
    )
    assert {each.strip() for each in read} <= {"", "| default(omit)"}
    assert read


WRONG = {"bool": "maybe", "int": "1.5", "float": "much", "dict": "[1]", "list": "one"}


@pytest.mark.parametrize("role", CHECKED)
def test_a_wrong_value_is_one_line_with_the_name_that_was_typed(role: str) -> None:
    for name, spec in options(role).items():
        if (spec["type"], spec.get("elements")) in (("list", "str"), ("list", "path"), ("list", "dict")):
            continue
        wrong = WRONG.get(spec["type"], "no such choice" if spec.get("choices") else None)
        if wrong is not None:
            with pytest.raises(VariablesError) as refused:
                checked({name: spec}, {name: wrong}, at_start)
            text = str(refused.value)
            assert text.startswith(f"{name}: ")
            assert "\n" not in text
            assert all(each in text for each in spec.get("choices", ()))


@pytest.mark.parametrize("kind", ["int", "float"])
@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "1e400", "1e999999999", "-1e30", float("inf"), 10**400, True])
def test_a_number_that_no_option_can_mean_is_refused(kind: str, value: object) -> None:
    with pytest.raises(VariablesError, match=r"^a: .* is (too large|below 0|not a (whole )?number)"):
        checked({"a": {"type": kind}}, {"a": value}, at_start)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("[::1]:9092", ["[::1]:9092"]),
        ("[::1]:9092,[::2]:9092", ["[::1]:9092", "[::2]:9092"]),
        ("[[::1]:9092, [::2]:9092]", ["[::1]:9092", "[::2]:9092"]),
        ("[kafka1:9092,kafka2:9092]", ["kafka1:9092", "kafka2:9092"]),
        ("[kafka1:9092", ["kafka1:9092"]),
    ],
)
def test_the_brackets_of_an_ipv6_address_are_no_brackets_of_a_list(typed: str, meant: list[str]) -> None:
    assert checked({"servers": {"type": "list", "elements": "str"}}, {"servers": typed}, at_start)["servers"] == meant


def test_a_time_that_no_timer_takes_is_refused() -> None:
    spec = {"wait_ms": {"type": "int"}}
    assert checked(spec, {"wait_ms": "2147483647"}, at_start) == {"wait_ms": 2**31 - 1}
    with pytest.raises(VariablesError, match="is too long: the longest time is 2147483647 ms"):
        checked(spec, {"wait_ms": "2147483648"}, at_start)


@pytest.mark.parametrize("value", [-1, "-1", " -2 ", "-0.5", [1, -1], "1,-1", "[-1]"])
def test_no_variable_takes_a_number_below_0(value: object) -> None:
    for spec in ({"type": "int"}, {"type": "float"}, {"type": "list", "elements": "int"}):
        with pytest.raises(VariablesError):
            checked({"a": spec}, {"a": value}, at_start)
    with pytest.raises(VariablesError, match="a: -1 is below 0"):
        checked({"a": {"type": "int"}}, {"a": "-1"}, at_start)


def test_an_id_that_no_node_can_have_is_refused() -> None:
    spec = {"brokers": {"type": "list", "elements": "int"}}
    assert checked(spec, {"brokers": "2147483647"}, at_start) == {"brokers": [2**31 - 1]}
    with pytest.raises(VariablesError, match="brokers: 1,2147483648 has a number that is no id of a node"):
        checked(spec, {"brokers": "1,2147483648"}, at_start)


def test_the_case_of_a_choice_is_named() -> None:
    spec = {"a": {"type": "str", "choices": ["SSL", "SASL_SSL"]}}
    with pytest.raises(VariablesError, match=r"did you mean SASL_SSL\?"):
        checked(spec, {"a": "sasl_ssl"}, at_start)


def test_a_common_prefix_is_not_what_makes_a_name_near() -> None:
    known = specs("unclean_recovery")
    (line,) = unknown("unclean_recovery_", known, {"unclean_recovery_batch_size": 0}, ())
    assert line == "unclean_recovery_batch_size is no variable of this collection"


def test_a_topic_that_yaml_takes_for_a_boolean_is_no_other_topic() -> None:
    with pytest.raises(VariablesError, match="topic: true is not a string: quote it"):
        checked(specs("unclean_recovery"), {"unclean_recovery_partitions": [{"topic": True}]}, at_start)


def test_null_is_no_name() -> None:
    with pytest.raises(VariablesError, match="is not a string"):
        checked({"a": {"type": "list", "elements": "str"}}, {"a": ["x", None]}, at_start)


def test_every_problem_is_reported_at_once_and_no_secret_is_shown() -> None:
    spec: dict[str, dict[str, Any]] = {
        "a": {"type": "int"},
        "b": {"type": "bool"},
        "c": {"type": "str", "required": True},
        "d": {"type": "str", "no_log": True},
    }
    with pytest.raises(VariablesError) as refused:
        checked(spec, {"a": "x", "b": "perhaps", "d": ["hidden"]}, at_start)
    lines = str(refused.value).split("; ")
    assert [line.split(" ")[0] for line in lines] == ["a:", "b:", "c", "d:"]
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["orders:x", "orders:3-1", "orders:-1", "orders:", "orders 1", "3", "orders:1 payments 2"]
)
def test_a_partition_that_is_no_number_is_refused(text: str) -> None:
    name = "unclean_recovery_partitions"
    with pytest.raises(VariablesError, match=name):
        checked({name: options("unclean_recovery")[name]}, {name: text}, at_start)


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("orders", [{"topic": "orders"}]),
        ("orders, payments", [{"topic": "orders"}, {"topic": "payments"}]),
        ("orders:0,3,payments", [{"topic": "orders", "partitions": [0, 3]}, {"topic": "payments"}]),
        ("orders:0,3 payments", [{"topic": "orders", "partitions": [0, 3]}, {"topic": "payments"}]),
        ('["orders", "payments:1"]', [{"topic": "orders"}, {"topic": "payments", "partitions": [1]}]),
    ],
)
def test_a_topic_alone_is_read(text: str, entries: list[dict[str, Any]]) -> None:
    name = "unclean_recovery_partitions"
    assert checked({name: options("unclean_recovery")[name]}, {name: text}, at_start) == {name: entries}


@pytest.mark.parametrize("role", CHECKED)
def test_the_nearest_right_name_is_given_for_every_slip(role: str) -> None:
    known = specs(role)
    for name in known:
        slip = f"{name[:-2]}{name[-1]}"
        (line,) = unknown(f"{role}_", known, {slip: 0, name: 1}, typed={slip})
        assert line.startswith(f"{slip} is no variable of this collection: did you mean {role}_")


@pytest.mark.parametrize("role", CHECKED)
def test_no_variable_of_another_role_is_refused(role: str) -> None:
    others = {name: 0 for other in CHECKED if other != role for name in [*specs(other), f"__{other}_checked"]}
    assert [*unknown(f"{role}_", specs(role), others, typed=others)] == []


def is_of_a_role(name: str) -> bool:
    return any(name in specs(each) for each in CHECKED)


@pytest.mark.parametrize(
    "typed",
    [
        *("unclean_recovry_max_lost_records", "unclean_recover_max_lost_records", "recovery_max_lost_records"),
        *("uncleanrecovery_max_lost_records", "UNCLEAN_RECOVERY_MAX_LOST_RECORDS", "unclean-recovery-max-lost-records"),
    ],
)
def test_a_slip_in_the_prefix_lifts_no_limit(typed: str) -> None:
    (line,) = with_slips("unclean_recovery", specs("unclean_recovery"), {typed: 0}, [typed], is_of_a_role)
    assert line == f"{typed} is no variable of this collection: did you mean unclean_recovery_max_lost_records?"


@pytest.mark.parametrize("role", CHECKED)
def test_a_variable_of_others_is_no_slip(role: str) -> None:
    of_roles = [name for other in CHECKED if other != role for name in specs(other)]
    of_users = [
        *("ansible_python_interpreter", "ansible_become_password", "ansible_check_mode", "awx_job_template_name"),
        *("recovery_window_ms", "report_dir", "lost_brokers", "max_lost_records", "brokers", "topics", "salvage_dir"),
        *("cluster_name", "cluster_hosts", "broker_ids", "unclean_shutdown_hosts", "prometheus_metrics_url", "env"),
        *("log_dirs", "spark_master", "quorum_hosts", "readiness_probe_url", "group", "drain_brokers", "stop_minutes"),
    ]
    variables = dict.fromkeys(of_roles + of_users, 0)
    assert [*with_slips(role, specs(role), variables, variables, is_of_a_role)] == []


@pytest.mark.parametrize(
    ("name", "is_refused"),
    [
        ("unclean_recovry_max_lost_records", True),
        ("uncleanrecovery_max_lost_records", True),
        ("Unclean_Recovery_max_lost_records", True),
        # A play of the user's own may have these for other commands.
        ("my_unclean_recovery_max_lost_records", False),
        ("recovery_max_lost_records", False),
        ("unclean_recovry_max_lost_recods", False),
    ],
)
def test_a_slip_in_the_prefix_is_found_in_an_inventory(name: str, is_refused: bool) -> None:
    found = [*with_slips("unclean_recovery", specs("unclean_recovery"), {name: 0}, (), is_of_a_role)]
    assert bool(found) is is_refused


def test_a_variable_of_the_user_that_an_option_is_made_of_is_no_slip() -> None:
    variables = {"unclean_recovery_max_lost_records": "{{ recovery_max_lost_records }}"}
    variables["recovery_max_lost_records"] = "0"
    typed = ["recovery_max_lost_records"]
    assert not [*with_slips("unclean_recovery", specs("unclean_recovery"), variables, typed, is_of_a_role)]


@pytest.mark.parametrize(
    ("prefix", "name", "value", "typed", "refused"),
    [
        ("unclean_recovery_", "unclean_recovery_limit", 0, False, True),
        ("unclean_recovery_", "unclean_recovery_result", {"changed": False, "failed": False}, False, False),
        ("readiness_", "readiness_probe_url", "x", False, False),
        ("readiness_", "readiness_fail", "x", True, True),
        ("readiness_", "readiness_certificate_day", 30, False, True),
        ("readiness_", "readiness_fail_url", "x", False, False),
        ("kafka_", "kafka_bootstrap_server", "x", True, True),
        ("kafka_", "kafka_bootstrap_server", "x", False, False),
        ("kafka_", "kafka_heap_opts", "x", True, False),
    ],
)
def test_variables_of_a_common_prefix_are_left_to_their_owners(
    prefix: str, name: str, value: object, typed: bool, refused: bool
) -> None:
    role = {"unclean_recovery_": "unclean_recovery"}.get(prefix, "readiness")
    known = {each for each in options(role) if each.startswith(prefix)}
    assert bool([*unknown(prefix, known, {name: value}, {name} if typed else ())]) is refused


def test_every_role_has_a_directory() -> None:
    assert {*CHECKED, "kafka_connection"} == {each.name for each in ROLES.iterdir()}


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ({"mastr": "local[2]", "driver_memory": "2g"}, "mastr is no key of it"),
        ("mastr=local[2]", "mastr is no key of it"),
        ({"master": "spark://host:7077", "remote": "sc://host"}, "give one"),
        ({"conf": {"spark.secret": "geheim"}}, "look secret"),
        ({"mastr": "x", "conf": {"spark.secret": "geheim"}}, "mastr is no key of it"),
        ({"conf": 5}, "conf"),
    ],
)
@pytest.mark.parametrize("name", ["unclean_recovery_spark", "cluster_recorder_spark"])
def test_a_slip_in_where_spark_runs_is_found_on_a_quiet_day_and_shows_no_setting(
    name: str, typed: object, why: str
) -> None:
    """Modules check it only when there is work for Spark."""
    with pytest.raises(VariablesError) as caught:
        checked({name: {"type": "dict"}}, {name: typed}, str)
    assert name in str(caught.value)
    assert why in str(caught.value)
    assert "geheim" not in str(caught.value)


def test_where_spark_runs_is_handed_on_as_it_was_typed() -> None:
    typed = {"master": "spark://host:7077", "settings_reference": "~/on/executors", "conf": {"spark.cores.max": 8}}
    assert checked({"a_spark": {"type": "dict"}}, {"a_spark": typed}, lambda _path: "changed") == {"a_spark": typed}
