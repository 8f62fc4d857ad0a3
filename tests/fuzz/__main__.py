"""``python tests/fuzz``: see command.py."""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    # Before the kernels are imported: threads that wait sleep, and non-temporal stores are used on every CPU.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ["GATHERSCATTER_STREAM"] = "1"
    sys.path[0] = str(Path(__file__).resolve().parents[1])

    from fuzz import command

    sys.exit(command.main())
