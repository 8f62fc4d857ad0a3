"""Faults that the tests have to see: ``python tests/faults/planted --help``."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Fault:
    name: str
    file: str
    find: str  # once in the file
    replace: str
    tests: list[str]  # files or functions, as pytest takes them: one fails

    def planted(self, text):
        if text.count(self.find) != 1:
            raise SystemExit(f"{self.name}: {self.file} has to contain once: {self.find}")
        return text.replace(self.find, self.replace)


def load():
    """All faults, by file."""
    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in Path(__file__).parent.glob("*.toml")]
    faults = [Fault(name, **fields) for table in tables for name, fields in table.items()]
    return sorted(faults, key=lambda fault: (fault.file, fault.name))
