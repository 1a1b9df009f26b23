# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options that say nothing, or against each other, are refused before any request."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.options import read_options
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.group_offsets import read_saved_offsets
from ansible_collections.kafkaops.recovery.plugins.modules.group_recovery import ARGUMENTS

_NONE = {name: each.get("default") for name, each in ARGUMENTS.argument_spec.items()}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"salvage_dir": []}, "salvage_dir is empty: leave it out to compare only the present commits with the logs"),
        ({"groups": []}, "groups is empty: leave it out to look at every group"),
        ({"groups": ["a"], "overwrite_groups": ["a", "b"]}, "overwrite_groups has groups that were not asked for: b"),
        ({"apply": True}, "undo_file is missing: name a new file for the committed offsets before the change"),
    ],
)
def test_what_contradicts_itself_is_refused(given: dict[str, Any], expected: str) -> None:
    with pytest.raises(KafkaOpsError) as refused:
        read_options({**_NONE, "bootstrap_servers": ["b:9092"], **given}, lambda _places: pytest.fail("it was read"))
    assert str(refused.value) == expected


def test_every_salvage_that_cannot_be_read_is_named() -> None:
    with pytest.raises(KafkaOpsError) as refused:
        read_options({**_NONE, "bootstrap_servers": ["b:9092"], "salvage_dir": ["/no", "/nor"]}, read_saved_offsets)
    assert [line.split()[0] for line in str(refused.value).splitlines()] == ["/no", "/nor"]
