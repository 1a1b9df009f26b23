# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check the variables of a role, and return them in the types of its argument specs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ansible import errors
from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.vars import load_extra_vars

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.files import refuse_existing, state_directory
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import join_first

# ansible-playbook imports this action in its own process, and so gets hold of its output for what a signal stops.
from ansible_collections.kafkaops.recovery.plugins.plugin_utils import interrupted  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.failing import printed_once
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.recovery_variables import decide
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.role_variables import (
    VariablesError,
    checked,
    unknown,
    with_slips,
)
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.variable_names import argument_specs, every_role

_SHARED = "kafka_"
_ELSEWHERE = ("hosts", "summary")
"""Variables with a role's prefix that its playbook has, or that it publishes."""
_OF_OTHERS = "kafka_connection_"
_OUTPUTS = ("_report_file", "_report_html", "_output_file")
_DECIDED = "unclean_recovery"
"""The role whose variables are decided on together. Few variables of the other roles depend on each other."""
_PLAN = "unclean_recovery_plan"
"""A plan as data, which is large. A command that repeats the run only needs whether there was one."""
_THEN_RESTORES, _RESTORING = "unclean_recovery_then_restore_redundancy", "redundancy"
"""The variable by which a role includes another one after its elections, and that role."""
_LATER_OUTPUTS = ("redundancy_report_file", "redundancy_report_html")
_REPORTS = {"unclean_recovery": "recovery", "leadership_drain": "leadership"}
"""The roles that write a report of every run, and how the names of these files begin."""
_OF_A_JOB = "awx_job_id"
"""AWX passes it to each job with the answers to its survey."""
_HIDDEN_FAULT = (
    "{} cannot be evaluated: it holds {{{{, {{% or {{#, which Ansible reads as the begin of a template. If that is "
    "part of the secret, mark the value with !unsafe, or encrypt it with ansible-vault encrypt_string"
)
_NO_TABLES = (
    f"{sys.executable}, which runs Ansible, lacks rich, without which no result can be printed: install it "
    f"({sys.executable} -m pip install 'rich>=15')"
)
_OF_A_CLUSTER = ("kafka_bootstrap_servers", "kafka_command_config")
"""Hosts that differ in one of these are of different clusters, as for roles/kafka_connection/tasks/one_host.yml."""


_omitted = getattr(errors, "AnsibleValueOmittedError", ())
"""ansible-core 2.18 returns the value of the variable omit."""


class ActionModule(ActionBase):
    """Runs on the Ansible controller, and asks nobody."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_diff = True
    _requires_connection = False
    _VALID_ARGS = frozenset({"role", "refusals"})

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": False}
        variables = task_vars or {}
        role = self._task.args["role"]
        own = argument_specs(role)
        shared = argument_specs("kafka_connection")
        values, problems = self._checked(role, variables)
        problems += self._task.args.get("refusals", [])
        if find_spec("rich") is None:
            problems.append(_NO_TABLES)
        later: dict[str, Any] = {}
        if values.get(_THEN_RESTORES):
            later, more = self._checked(_RESTORING, variables)
            problems += more
        problems += self._shared_outputs(values | later, variables)
        if problems:
            named = "; ".join(dict.fromkeys(problems))
            stop = "" if named.endswith("?") else "."
            failure = {"failed": True, "msg": f"{named}{stop} Nothing was read or changed."}
            return printed_once(result | failure, self._task, variables)
        # A result is printed with -v: secrets stay where they are.
        open_ = {name: value for name, value in values.items() if not (own | shared)[name].get("no_log")}
        groups: dict[str, dict[str, Any]] = {"kafka": {}, "controllers": {}, "journal": {}}
        for name in shared:
            if name in open_:
                groups[_group(name)][name.removeprefix(_SHARED)] = open_[name]
        options = {name.removeprefix(f"{role}_"): open_[name] for name in own if name in open_}
        html = options.get("report_html", "")
        is_check = bool(variables.get("ansible_check_mode"))
        creates = {name: path for name, path in later.items() if name in _LATER_OUTPUTS and path}
        decided: dict[str, Any] = {}
        if role == _DECIDED:
            decided["decided"] = decide(options, groups["kafka"], creates, is_check=is_check)
            if decided["decided"]["restores"]:
                decided["decided"]["refusals"] += self._not_creatable(creates)
        return (
            result
            | groups
            | decided
            | {
                "options": options,
                "variables": self._for_commands(role, open_, own | shared, variables),
                "report_file": options.get("report_file") or self._default_report(role, html),
                "report_html": html,
            }
        )

    def _checked(self, role: str, variables: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Return the values of a role's variables and of the shared ones, and what is wrong with them."""
        own = argument_specs(role)
        shared = argument_specs("kafka_connection")
        given, faults = self._given(own | shared, variables)
        problems = [*self._unknown(role, own, shared, variables), *self._emptied(own, given), *faults.values()]
        known = {name: spec for name, spec in (own | shared).items() if name not in faults}
        try:
            return checked(known, given, self._path), problems
        except VariablesError as error:
            return {}, [*problems, str(error)]

    def _not_creatable(self, paths: Mapping[str, str]) -> Iterator[str]:
        """Yield the files on this host that cannot be created, before a role that runs first changes anything."""
        if self._is_local() and not self._play_context.become:
            for name, path in paths.items():
                try:
                    refuse_existing(path)
                except DocumentError as error:
                    yield f"{name}: {error}"

    def _for_commands(
        self, role: str, values: Mapping[str, Any], options: Mapping[str, Any], variables: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return what a command needs that repeats this run: no secret, and no value that is the default.

        A default that was typed counts: an inventory may have another value. ROLE_hosts is a variable of the playbook,
        and not one of the role.
        """
        typed = load_extra_vars(self._loader)
        hosts = self._acting_hosts(self._templar.template(variables.get(f"{role}_hosts", "")), variables)
        given = {
            name: bool(value) if name == _PLAN else value
            for name, value in values.items()
            if name in typed or value != options[name].get("default")
        }
        return given | ({f"{role}_hosts": hosts} if hosts else {})

    def _acting_hosts(self, hosts: Any, variables: Mapping[str, Any]) -> Any:
        """Return this host in place of hosts of several clusters: a command has the addresses of one cluster."""
        if not hosts:
            return hosts
        lookup = self._shared_loader_obj.lookup_loader.get(
            "ansible.builtin.inventory_hostnames", loader=self._loader, templar=self._templar
        )
        names = lookup.run([hosts] if isinstance(hosts, str) else hosts, variables=variables)
        return variables["inventory_hostname"] if any(_of_other_clusters(names, variables)) else hosts

    def _unknown(self, role: str, own: Any, shared: Any, variables: dict[str, Any]) -> list[str]:
        typed = load_extra_vars(self._loader)
        if typed.get("_raw_params"):
            # It may be a part of a password, so the message does not have it.
            return [
                "a value of -e has a space, and Ansible drops what comes after it. Separate the parts of a list by "
                'commas (orders:0,3,payments), or give the value as JSON: -e \'{"NAME": "a value"}\''
            ]
        of_role = {*own, *(f"{role}_{each}" for each in _ELSEWHERE)}
        of_kafka = {*shared, *(each for each in variables if each.startswith(_OF_OTHERS))}
        others = {each: variables[each] for each in variables if not each.startswith((f"{role}_", _SHARED))}
        return [
            *unknown(f"{role}_", of_role, variables, typed),
            *unknown(_SHARED, of_kafka, variables, typed),
            *with_slips(role, own, others, typed, _is_of_a_role),
        ]

    def _given(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the values of the options that are variables, without those that are to be omitted.

        Also return why some cannot be evaluated. Ansible's own error shows the line with the value.
        """
        omit = variables.get("omit", _omitted)
        values: dict[str, Any] = {}
        faults: dict[str, str] = {}
        for name in (each for each in options if each in variables):
            try:
                value = self._templar.template(variables[name])
            except _omitted:
                continue
            except AnsibleError as error:
                why = str(error).rstrip(".")
                faults[name] = _HIDDEN_FAULT.format(name) if options[name].get("no_log") else f"{name}: {why}"
            else:
                if value is not omit and value != omit:
                    values[name] = value
        return values, faults

    def _emptied(self, own: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
        """Yield the role's variables that are empty, wherever they are set: that would lift a limit, or select all.

        Only an answer to a survey of AWX may be empty: the question was seen.
        """
        typed = load_extra_vars(self._loader)
        answers = typed if _OF_A_JOB in typed else ()
        for name, spec in own.items():
            is_needed = spec.get("required") or spec.get("default") == ""
            if name in given and given[name] in (None, "") and not is_needed and name not in answers:
                yield f"{name} is empty: give a value, or leave it out"

    def _shared_outputs(self, values: Mapping[str, Any], variables: Mapping[str, Any]) -> Iterator[str]:
        """Yield the files that this cluster and another one of the play would write: no file is ever overwritten."""
        if not self._is_local():
            return
        this = variables["inventory_hostname"]
        others = [
            each
            for each in _of_other_clusters(variables.get("ansible_play_hosts_all", ()), variables)
            if each.get("ansible_connection") == "local"
        ]
        for name in values:
            if name.endswith(_OUTPUTS) and values[name]:
                same = [
                    each["inventory_hostname"] for each in others if self._path(str(each.get(name))) == values[name]
                ]
                if same:
                    yield (
                        f"{name}: {join_first(sorted([this, *same]))} would all write {values[name]}. Name the cluster "
                        "in it, such as {{ inventory_hostname }}.json"
                    )

    def _is_local(self) -> bool:
        return bool(self._connection.transport == "local")

    def _path(self, text: str) -> str:
        """Return an absolute path: on this host from where the command was started, elsewhere from the login's home."""
        if self._is_local():
            if self._play_context.become and text.startswith("~"):
                return text  # The home directory of the user that the module becomes.
            return str(Path.cwd() / os.path.expanduser(os.path.expandvars(text)))
        return text if text.startswith(("/", "~", "$")) else f"~/{text}"

    def _default_report(self, role: str, html: str) -> str:
        """Return the path of the report of a run without a report file; empty if it writes none.

        A page is made from a report: that is written beside the page. The module that writes a report of every run
        creates its directory. A directory of another user or host is below the home directory there.
        """
        if role not in _REPORTS:
            return f"{html}.json" if html else ""
        is_ours = self._is_local() and not self._play_context.become
        state = state_directory() if is_ours else "~/.local/state/kafkaops-recovery"
        return f"{state}/reports/{_REPORTS[role]}-{datetime.now(UTC).strftime('%Y%m%dT%H%M%S%f')}.json"


def _is_of_a_role(name: str) -> bool:
    return any(name in argument_specs(role) for role in every_role())


def _group(name: str) -> str:
    """Return the action group of a shared variable."""
    if "controllers" in name:
        return "controllers"
    return "journal" if name.startswith("kafka_journal") else "kafka"


def _of_other_clusters(hosts: Iterable[str], variables: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the variables of those of the hosts that name another cluster than this host."""
    every = variables["hostvars"]
    ours = [every[variables["inventory_hostname"]].get(name) for name in _OF_A_CLUSTER]
    for host in hosts:
        if [every[host].get(name) for name in _OF_A_CLUSTER] != ours:
            yield every[host]
