# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check a broker's answers about its replicas, and return the cause and a text for the operator if one is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from .._model.partition import Cause
from . import error_codes
from .epochs import EpochAnswer, NoEpochEnd
from .held_replicas import OffsetAnswer

_CAUSES = {
    error_codes.UNKNOWN_TOPIC_OR_PARTITION: Cause.MISSING,
    error_codes.UNKNOWN_TOPIC_ID: Cause.MISSING,
    error_codes.NOT_LEADER_OR_FOLLOWER: Cause.MISSING,
    error_codes.TOPIC_AUTHORIZATION_FAILED: Cause.NOT_AUTHORISED,
    error_codes.CLUSTER_AUTHORIZATION_FAILED: Cause.NOT_AUTHORISED,
    error_codes.KAFKA_STORAGE_ERROR: Cause.LOG_DIR_OFFLINE,
}


def offset_error(answers: Sequence[OffsetAnswer], request: str) -> tuple[Cause, str] | None:
    """Check the answers about one replica to a ListOffsets request. Return the error, or None."""
    error = _count_error(len(answers), request)
    if error:
        return error
    code = answers[0].error_code
    if code:
        return _CAUSES.get(code, Cause.ERROR), f"{request}: {error_codes.explain_error('ListOffsets', code)}"
    if answers[0].offset < 0:
        return Cause.BAD_ANSWER, f"{request}: offset {answers[0].offset}"
    return None


def epoch_error(answer: EpochAnswer | None, question: int) -> tuple[Cause, str] | None:
    """Check the answer about one epoch of one replica. Return the error, or None."""
    if answer is None:
        return _count_error(0, "Fetch (epoch probe)")
    if not isinstance(answer, NoEpochEnd):
        if answer.end_offset >= 0 and answer.epoch <= question:
            return None
        return Cause.BAD_ANSWER, (
            f"Fetch (epoch probe): asked about epoch {question}, the broker returned {answer.end_offset} as the end of "
            f"epoch {answer.epoch}"
        )
    code = answer.error_code
    if answer.times > 1:
        return _count_error(answer.times, "Fetch (epoch probe)")
    if code == error_codes.NONE:
        return Cause.BAD_ANSWER, "Fetch (epoch probe): no error and no diverging epoch"
    if code == error_codes.OFFSET_OUT_OF_RANGE:
        return None
    return _CAUSES.get(code, Cause.ERROR), f"Fetch (epoch probe): {error_codes.explain_error('Fetch', code)}"


def _count_error(times: int, request: str) -> tuple[Cause, str] | None:
    if times == 1:
        return None
    found = f"answered it {times} times" if times else "left it out of its answer"
    return Cause.BAD_ANSWER, f"{request}: the broker {found}"
