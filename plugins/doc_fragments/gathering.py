# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of asking replicas; module_utils/glue/gathering.py has their argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  recovery_duration_ms:
    description:
      - Milliseconds that asking all brokers may take. Until then, a broker that does not answer is tried again.
      - A broker that has not answered by then is named as silent, with the cause.
    type: int
    default: 30000
  evidence_dir:
    description:
      - Directory to keep what the replicas told in, as Parquet. It is made, and must not exist.
      - It holds no secret.
    type: path
requirements:
  - Java >= 17
  - pyspark >= 4.1
  - pyarrow
"""

    # For whatever returns a row a partition or a replica.
    MAX_ROWS = r"""
options:
  max_rows:
    description:
      - How many rows to return at most. The summary counts all of them, and the files hold all of them.
    type: int
    default: 1000
"""
