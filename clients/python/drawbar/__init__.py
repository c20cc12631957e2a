"""Drawbar for Python: run coding agents through the program drawbar, which must be on PATH. Python 3.11 or later, nothing else."""

from .client import Drawbar, DrawbarError, Run
from .types import PROTOCOL_VERSION

__all__ = ["Drawbar", "DrawbarError", "Run", "PROTOCOL_VERSION"]
