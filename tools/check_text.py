#!/usr/bin/env python3
"""What no file of the project contains: paths of somebody's machine, notes to self, names of package
hosts, trailing white space; and how long a C++ file may be."""

import re

import sourcelib
from sourcelib import Finding

MAX_LINES = 600

# Written in pieces, so that this file passes its own check.
MACHINE_PATHS = re.compile("(?<![\\w.])/(?:" + "|".join(["work", "ro" + "ot", "ho" + "me"]) + ")/\\w"
                           + "|/tmp/" + "wt")
NOTES = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
PACKAGE_HOSTS = re.compile("|".join(re.escape(host) for host in [
    "deb.debian" + ".org", "archive.ubuntu" + ".com", "files.pythonhosted" + ".org",
    "registry.npmjs" + ".org", "proxy.golang" + ".org", "static.crates" + ".io",
    "registry-1.docker" + ".io"]))

# Bodies as providers and clients sent them, byte for byte, and the inputs of fuzzers.
VERBATIM = re.compile(r"tests/cases/|tests/[\w/]*fixtures/|fuzz/[\w/]*corpus/")
BINARY = re.compile(r"\.(?:png|ico|gz|zst|woff2|der|p12)$")
CXX = (".h", ".cc")


def scan(path, text):
    findings = []
    lines = text.split("\n")
    is_verbatim = VERBATIM.match(path) is not None
    for number, line in enumerate(lines, 1):
        if MACHINE_PATHS.search(line):
            findings.append(Finding(path, number, "names a path of one machine"))
        if is_verbatim:
            continue
        if NOTES.search(line):
            findings.append(Finding(path, number, "a note to self: do it, or write an issue"))
        if PACKAGE_HOSTS.search(line):
            findings.append(Finding(path, number, "names a package host: that is the machine's choice"))
        if line != line.rstrip():
            findings.append(Finding(path, number, "trailing white space"))
    if not is_verbatim and text and not text.endswith("\n"):
        findings.append(Finding(path, len(lines), "the last line has no line break"))
    if path.endswith(CXX) and len(lines) - 1 > MAX_LINES:
        findings.append(Finding(
            path, 0, f"{len(lines) - 1} lines; a file has one subject and at most {MAX_LINES}"))
    return findings


def check(root):
    findings = []
    for path in sourcelib.files(root=root):
        if BINARY.search(path):
            continue
        raw = (root / path).read_bytes()
        if b"\0" in raw:
            continue
        findings += scan(path, raw.decode("utf-8", errors="replace"))
    return findings


if __name__ == "__main__":
    sourcelib.main(check)
