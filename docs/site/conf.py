# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sphinx's settings for the documentation site. tests/publish/site.py puts the sources together and runs Sphinx."""

from __future__ import annotations

project = "kafkaops.recovery"
author = copyright = "the kafkaops.recovery authors"  # the name that Sphinx wants
extensions = ["myst_parser", "sphinx_antsibull_ext"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
html_theme = "furo"
html_title = "kafkaops.recovery"
html_copy_source = False
# Anchors of headings, as GitHub makes them.
myst_heading_anchors = 4
# Pygments has no lexer for some of the output that guides show.
highlight_language = "none"
