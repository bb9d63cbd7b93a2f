#!/usr/bin/env python3
"""The table "Where is X" of ARCHITECTURE.md: each row names a file and what that file defines.

Checked: the file exists and a type, function, constant, macro or setting of that name is declared in
it. So the index can't point at what was moved or renamed. Other paths in backticks anywhere in
the documents for contributors must exist too."""

import re

import sourcelib
from sourcelib import Finding

DOCUMENTS = ("ARCHITECTURE.md", "CONTRIBUTING.md")
# A path of the tree in backticks, without blanks or free names.
PATH = re.compile(r"`((?:src|tests|tools|fuzz|bench|docs|scripts|cmake|config|deploy)/[\w./-]+)`")


def defines(text, symbol):
    """Whether C++ (or Python or CMake) `text` declares `symbol`. A name in quotes is a setting's or
    a command's and may stand in any string."""
    if symbol.startswith('"'):
        return symbol in text
    name = re.escape(symbol.split("::")[-1])
    code = sourcelib.without_comments(text)
    return re.search(
        rf"\b(?:class|struct|enum(?: class)?|union|concept|using|def|namespace)\s+(?:\[\[\w+\]\]\s*)?{name}\b"
        rf"|#\s*define\s+{name}\b"
        rf"|\bfunction\({name}\b"
        rf"|[\w>&*\]]\s+[&*]?(?:\w+::)*{name}\s*[({{=;]", code) is not None


def check(root):
    findings = []
    architecture = sourcelib.read("ARCHITECTURE.md", root)
    for number, cells in sourcelib.table(architecture, "Where is X"):
        paths, symbols = sourcelib.quoted(cells[1]), sourcelib.quoted(cells[2])
        if len(paths) != 1 or not symbols:
            findings.append(Finding("ARCHITECTURE.md", number, "a row names one file and its symbols"))
            continue
        if not (root / paths[0]).is_file():
            findings.append(Finding("ARCHITECTURE.md", number, f"there is no {paths[0]}"))
            continue
        text = sourcelib.read(paths[0], root)
        for symbol in symbols:
            if not defines(text, symbol):
                findings.append(Finding(
                    "ARCHITECTURE.md", number, f"{paths[0]} does not define {symbol}"))
    for document in DOCUMENTS:
        if not (root / document).is_file():
            findings.append(Finding(document, 0, "is missing"))
            continue
        for number, line in enumerate(sourcelib.read(document, root).split("\n"), 1):
            for path in PATH.findall(line):
                if not (root / path).exists():
                    findings.append(Finding(document, number, f"there is no {path}"))
    return findings


if __name__ == "__main__":
    sourcelib.main(check)
