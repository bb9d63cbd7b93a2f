#!/usr/bin/env python3
"""The layout of C++ files is what clang-format makes of them. `--fix` rewrites them."""

import subprocess
import sys

import sourcelib

FORMAT = "clang-format-19"


def main():
    paths = sourcelib.files(".h", ".cc", under=["src", "tests", "fuzz", "bench"])
    if not paths:
        return 0
    mode = ["-i"] if "--fix" in sys.argv[1:] else ["--dry-run", "-Werror", "--ferror-limit=1"]
    try:
        done = subprocess.run([FORMAT, *mode, *paths], cwd=sourcelib.ROOT, check=False)
    except FileNotFoundError:
        print(f"{FORMAT} is not installed (scripts/setup installs it)")
        return 1
    if done.returncode != 0:
        print("tools/check_format.py --fix puts it right")
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
