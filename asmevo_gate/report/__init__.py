"""Reports: one renderer a format, each a module with ``render(report, context) -> str``.

``formats`` names them, ``context`` holds what a renderer may know beside the report, ``writing`` puts them
in files. This module imports nothing, so that a hook that has nothing to report pays nothing.
"""
