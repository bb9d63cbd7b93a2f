#!/usr/bin/env python3
"""Each header compiles alone, without the precompiled one: whoever includes it needs nothing before.

    tools/check_headers.py [--build build/dev] [header...]

The flags come from the build folder's compile_commands.json. A header that passed is remembered by
the content of everything of ours that it includes, so a second run compiles only what changed."""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import pathlib
import shlex
import subprocess
import sys

import sourcelib

JOBS = 2
# Flags with a value that say what the build makes of a file, or what it adds in front.
WITH_VALUE = {"-o", "-MT", "-MF", "-MQ", "-include"}
ALONE = {"-c", "-MD", "-MMD", "-Winvalid-pch"}


def flags_of(entry):
    """The compiler and the flags of a command, without its output, its input and precompiled headers."""
    words = shlex.split(entry["command"]) if "command" in entry else entry["arguments"]
    compiler = next(i for i, w in enumerate(words) if pathlib.Path(w).name.startswith("clang++"))
    out, rest = [words[compiler]], iter(words[compiler + 1:])
    for word in rest:
        if word == "-Xclang":
            value = next(rest)
            if value in ("-include-pch", "-include"):
                next(rest), next(rest)  # -Xclang <file>
            elif value not in ("-fno-pch-timestamp", "-fpch-instantiate-templates"):
                out += [word, value]
        elif word in WITH_VALUE:
            next(rest)
        elif word not in ALONE and word != entry["file"] and not word.startswith("-fsanitize"):
            out.append(word)
    return out


def commands(build):
    """Flags by folder of src/, from one of the folder's sources."""
    by_folder = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if path.is_relative_to(sourcelib.ROOT / "src") and path.suffix == ".cc":
            by_folder.setdefault(path.parent.relative_to(sourcelib.ROOT).as_posix(), flags_of(entry))
    return by_folder


@functools.cache
def closure(path):
    """`path` and all headers of ours that it reaches."""
    reached, waiting = set(), [path]
    while waiting:
        current = waiting.pop()
        if current in reached or not (sourcelib.ROOT / current).is_file():
            continue
        reached.add(current)
        waiting += [f"src/{name}" for _, name, ours in sourcelib.includes(sourcelib.read(current)) if ours]
    return sorted(reached)


def fingerprint(header, flags):
    state = hashlib.sha256("\0".join(flags).encode())
    for path in closure(header):
        state.update(path.encode() + b"\0" + (sourcelib.ROOT / path).read_bytes() + b"\0")
    return state.hexdigest()


def compile_alone(header, flags):
    """What the compiler said, or nothing when the header passed."""
    done = subprocess.run(
        [*flags, "-fsyntax-only", "-Wno-pragma-once-outside-header", "-x", "c++", header],
        cwd=sourcelib.ROOT, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else (done.stderr or f"exit code {done.returncode}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=sourcelib.ROOT / "build" / "dev")
    parser.add_argument("headers", nargs="*")
    args = parser.parse_args()
    build = args.build.resolve()
    if not (build / "compile_commands.json").is_file():
        print(f"{args.build}: no compile_commands.json; run cmake --preset dev first")
        return 1
    by_folder = commands(build)
    any_flags = next(iter(by_folder.values()))
    passed = build / "headers-passed"
    passed.mkdir(exist_ok=True)

    work = []
    for header in args.headers or sourcelib.files(".h", under=["src"]):
        flags = by_folder.get(str(pathlib.PurePosixPath(header).parent), any_flags)
        mark = passed / fingerprint(header, flags)
        if not mark.exists():
            work.append((header, flags, mark))

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        answers = pool.map(lambda item: compile_alone(item[0], item[1]), work)
        for (header, _, mark), problem in zip(work, answers):
            if problem is None:
                mark.touch()
                continue
            failed += 1
            print(f"{header}: does not compile alone\n{problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
