# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Error codes: Kafka's own names, and the meaning of a refusal of a whole request."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import error_codes


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (-1, "UNKNOWN_SERVER_ERROR"),
        (1, "OFFSET_OUT_OF_RANGE"),
        (3, "UNKNOWN_TOPIC_OR_PARTITION"),
        (6, "NOT_LEADER_OR_FOLLOWER"),
        (17, "INVALID_TOPIC_EXCEPTION"),
        (29, "TOPIC_AUTHORIZATION_FAILED"),
        (39, "INVALID_REPLICA_ASSIGNMENT"),
        (41, "NOT_CONTROLLER"),
        (56, "KAFKA_STORAGE_ERROR"),
        (83, "ELIGIBLE_LEADERS_NOT_AVAILABLE"),
        (84, "ELECTION_NOT_NEEDED"),
        (9999, "UNKNOWN_ERROR_CODE_9999"),
    ],
)
def test_codes_have_kafkas_names(code: int, name: str) -> None:
    assert error_codes.error_name(code) == name


def test_error_text_has_the_number_and_the_brokers_message() -> None:
    assert error_codes.describe_error(56) == "KAFKA_STORAGE_ERROR (error 56)"
    assert error_codes.describe_error(9999, "beyond us") == "UNKNOWN_ERROR_CODE_9999 (error 9999): beyond us"


def test_a_refusal_names_the_missing_acl() -> None:
    refusal = error_codes.request_refused_error("ElectLeaders", error_codes.CLUSTER_AUTHORIZATION_FAILED)
    assert refusal.code == error_codes.CLUSTER_AUTHORIZATION_FAILED
    assert not refusal.is_transient
    assert str(refusal) == (
        "ElectLeaders was refused: CLUSTER_AUTHORIZATION_FAILED (error 31) (our principal needs ALTER on the cluster)"
    )


@pytest.mark.parametrize(
    ("code", "is_transient"),
    [
        (41, True),
        (error_codes.REQUEST_TIMED_OUT, True),
        (error_codes.CLUSTER_AUTHORIZATION_FAILED, False),
        (9999, False),
    ],
)
def test_transient_is_what_kafkas_clients_try_again(code: int, is_transient: bool) -> None:
    assert error_codes.request_refused_error("ElectLeaders", code).is_transient is is_transient
