# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Conversion of dataclasses to JSON's own types."""

from __future__ import annotations

import json

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause, PartitionState
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import to_json_types
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import SilentReplica
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status


def test_nothing_but_plain_types_is_left() -> None:
    silent = SilentReplica(1, Cause.HUNG, "no answer")
    result = to_json_types(Outcome("t", 0, Status.UNRECOVERABLE, "no replica left", replicas=(1,), silent=(silent,)))
    assert result["silent"] == [{"broker_id": 1, "cause": "hung", "error": "no answer"}]
    assert result["status"].__class__ is str
    assert json.loads(json.dumps(result)) == result


def test_a_tuple_with_named_fields_becomes_an_object() -> None:
    state = PartitionState("t", 0, "id", -1, 7, (1, 2), (), None, None, ())
    assert to_json_types([state])[0]["replicas"] == [1, 2]
    assert to_json_types(state).keys() == {*PartitionState._fields}
