# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The list of deprioritized brokers, for all topics and by pattern."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist import (
    Blacklist,
    BlacklistError,
    Change,
    check_request,
    parse_config_value,
    require_registered,
    warn_of_unknown,
)


def test_present_adds_absent_removes_exact_sets() -> None:
    blacklist = Blacklist((1, 10))
    assert blacklist.with_change(Change.PRESENT, [65, 1]).brokers == (1, 10, 65)
    assert blacklist.with_change(Change.ABSENT, [10, 7]).brokers == (1,)
    assert blacklist.with_change(Change.EXACT, [3]).brokers == (3,)
    assert not blacklist.with_change(Change.EXACT, [])
    assert blacklist.with_change(Change.PRESENT, []) == blacklist


def test_the_whole_list_is_written_and_an_empty_list_deletes_the_config() -> None:
    """KIP-491: preferred_leader_blacklist=1,10,65."""
    assert Blacklist((1, 10, 65)).config_value == "1,10,65"
    assert Blacklist((), {"orders-*": (1,)}).config_value is None
    assert parse_config_value(" 65, 1,10,") == (1, 10, 65)
    assert parse_config_value("") == ()
    with pytest.raises(BlacklistError, match="not a list of broker ids"):
        parse_config_value("1,two")


def test_lists_by_pattern_add_to_the_list_for_all_topics() -> None:
    blacklist = Blacklist((1,)).with_change(Change.PRESENT, [2, 3], ["orders-*", "audit"])
    assert blacklist.by_topic == {"audit": (2, 3), "orders-*": (2, 3)}
    assert blacklist.listed_for("orders-eu") == {1, 2, 3}
    assert blacklist.listed_for("payments") == {1}
    fewer = blacklist.with_change(Change.ABSENT, [2, 3], ["audit"])
    assert fewer.by_topic == {"orders-*": (2, 3)}
    assert fewer.brokers == (1,)
    assert fewer.with_change(Change.EXACT, [], ["orders-*"]) == Blacklist((1,))
    assert fewer.with_change(Change.EXACT, [4]) == Blacklist((4,), {"orders-*": (2, 3)})
    assert fewer.with_change(Change.ABSENT, [1]) == Blacklist((), {"orders-*": (2, 3)})


def test_an_exact_empty_list_empties_the_lists_by_pattern_too() -> None:
    assert Blacklist((1,), {"orders-*": (2, 3)}).with_change(Change.EXACT, []) == Blacklist()


def test_all_errors_are_named() -> None:
    check_request([0, 2**31 - 1], ["*", "orders.??"])
    with pytest.raises(BlacklistError) as refused:
        check_request([-1, 2**31], ["[a]", ""])
    assert all(text in str(refused.value) for text in ("-1 is", "2147483648 is", "'[a]' is", "'' is"))


def test_a_broker_that_is_not_registered_is_refused_by_name() -> None:
    """11 is a typing error for 1: the run would succeed without effect."""
    with pytest.raises(BlacklistError, match="not registered with this cluster: broker 11; registered are 1, 2, 3"):
        require_registered([11, 2], Blacklist(), {1, 2, 3})
    require_registered([1, 2], Blacklist(), {1, 2, 3})
    require_registered([11, 12], Blacklist((11,), {"audit": (12,)}), {1, 2, 3})


def test_a_restore_for_a_mistyped_broker_says_so() -> None:
    """It ended green, and broker 1 was still on the list. A repeated run after a broker was removed must stay green."""
    (warning,) = warn_of_unknown([11], Blacklist((1,)), {1, 2, 3})
    assert "broker 11 is not registered with this cluster, and is not on the list, which has 1" in warning
    assert warn_of_unknown([1, 2], Blacklist((1,)), {2, 3}) == ()
