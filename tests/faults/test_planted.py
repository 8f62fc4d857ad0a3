"""The faults of planted/ match the sources, and their tests exist. ``python tests/faults/planted`` plants them."""

import pytest
from libraries import needs
from planted import ROOT, load

pytestmark = needs((ROOT / "src").exists(), "the sources are not here")


@pytest.mark.parametrize("fault", load(), ids=lambda fault: fault.name)
def test_a_fault_matches_once_and_its_tests_exist(fault):
    assert fault.planted((ROOT / fault.file).read_text(encoding="utf-8"))
    for test in fault.tests:
        file, _, function = test.partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert f"def {function.rpartition('::')[2].partition('[')[0]}" in text
