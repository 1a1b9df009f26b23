# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Benchmarks, as ratios of two things timed in one run: ``python -m bench``.

Every module directly in this package is one: ``run(options: Options) -> Iterator[Row]``. What they share is in
``bench.kit``, what they are compared with in ``bench.baselines``. How to read the figures: docs/benchmarks.md.
"""
