"""The compiled modules have no types: to type checkers, whatever is imported from them is Any."""

from typing import Any

uses_avx2: bool

def __getattr__(name: str) -> Any: ...
