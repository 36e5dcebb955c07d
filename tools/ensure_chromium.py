"""Installs Debian's Chromium for the browser tests where there is none."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys


def main() -> int:
    if shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome"):
        return 0
    if not shutil.which("apt-get"):
        print("No Chromium and no apt-get: install Chromium to run the browser tests.")
        return 1
    prefix = [] if os.geteuid() == 0 else ["sudo"]
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    subprocess.run([*prefix, "apt-get", "update", "-qq"], check=True, env=environment)
    subprocess.run([*prefix, "apt-get", "install", "-y", "-qq", "chromium"], check=True, env=environment, stdout=subprocess.DEVNULL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
