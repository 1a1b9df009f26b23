# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No module prints a secret that it is given: each such option of every module is marked ``no_log``."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from traceback import walk_tb
from typing import Any

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.kafkaops.recovery.plugins import modules

NAMES = sorted(
    path.stem
    for path in Path(modules.__path__[0]).glob("[!_]*.py")
    # Without action plugins that have no module of their own.
    if not path.stem.endswith("_tables") and path.stem not in {"printed_lines", "role_variables"}
)
WORDS = ("password", "secret", "token")
NO_SECRETS = {"sasl_oauthbearer_token_endpoint_url"}


def argument_spec(name: str) -> Mapping[str, Any]:
    """Return the argument spec that the module gives to Ansible, by which Ansible refuses an unknown option."""
    module = importlib.import_module(f"{modules.__name__}.{name}")
    with patch_module_args({"no_such_option": True}), pytest.raises(SystemExit) as refused:
        module.main()
    callers = (frame.f_locals.get("self") for frame, _line in walk_tb(refused.tb))
    spec: Mapping[str, Any] = next(each.argument_spec for each in callers if isinstance(each, AnsibleModule))
    return spec


def secrets(spec: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    for name, option in spec.items():
        if any(word in name for word in WORDS) and name not in NO_SECRETS:
            yield name, bool(option.get("no_log"))
        yield from secrets(option.get("options", {}))


@pytest.mark.parametrize("name", NAMES)
def test_secrets_are_not_logged(name: str) -> None:
    assert [option for option, is_hidden in secrets(argument_spec(name)) if not is_hidden] == []


def test_the_options_that_are_secret_are_found() -> None:
    found = {option for name in NAMES for option, _is_hidden in secrets(argument_spec(name))}
    assert found >= {"sasl_password", "ssl_key_password", "sasl_oauthbearer_client_secret", "metrics_password"}
