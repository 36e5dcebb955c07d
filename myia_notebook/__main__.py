"""The shell: `python -m myia_notebook show FILE.py:function --args 1.0 2 --stage optimized`. See `shell.py`."""
from __future__ import annotations

import sys

from myia_notebook.shell import main

if __name__ == "__main__":
    sys.exit(main())
