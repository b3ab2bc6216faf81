"""The site: `make docs` (Sphinx). Every picture of the gallery is drawn in the build."""

from __future__ import annotations

import os
import re
import warnings

import budgetsvm

# Pictures need no window, and two threads are what the pages speak of.
os.environ.setdefault("MPLBACKEND", "agg")
# A fit that says something is shown by the example that is about it.
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

project = "budgetsvm"
author = "The developers of budgetsvm"
version = release = budgetsvm.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["gallery/README.rst", "_templates"]
templates_path = ["_templates"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
# Its page needs no engine.
autodoc_mock_imports = ["distributed"]
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = f"budgetsvm {version}"
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
}

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "min_reported_time": 0.5,
    "show_memory": False,
    "remove_config_comments": True,
    "download_all_examples": False,
}


def without_labels(app, what, name, thing, options, lines):
    """What is inherited from scikit-learn names labels and terms of scikit-learn's own site."""
    for at, line in enumerate(lines):
        lines[at] = re.sub(r":(?:ref|term):`([^`<]*?)\s*(?:<[^`>]*>)?`", r"\1", line)


def setup(app):
    app.connect("autodoc-process-docstring", without_labels)
