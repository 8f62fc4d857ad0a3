"""Modules for other libraries, where these are not installed."""

import subprocess
import sys
from importlib.util import find_spec

from libraries import needs


@needs(find_spec("torch"), "torch is not installed")
def test_pytorch_geometric_is_asked_for():
    program = "import sys; sys.modules['torch_geometric'] = None; import gatherscatter.integrations.torch_geometric"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stderr.splitlines()[-1] == (
        "ImportError: gatherscatter.integrations.torch_geometric: it needs torch_geometric; pip install torch_geometric"
    )
