#!/usr/bin/env python3
"""Which folder of src/ may include which, and which library may be used where.

Both tables are in ARCHITECTURE.md, under "Layers" and "Libraries"; this reads them and every
#include of src/. A folder or a library without a row is a finding, so the map stays whole."""

import re

import sourcelib
from sourcelib import Finding

# System headers of C++: no slash and no suffix. <cassert> and the like are among them.
STANDARD = re.compile(r"[a-z_0-9]+")


class Layers:
    """The table "Layers": a folder, and the folders whose headers its files may include.

    The most specific row counts. `surface/<door>` stands for each sub-folder that has no row of its
    own. A folder may always include itself."""

    def __init__(self, markdown):
        self.rows = {}
        for _, cells in sourcelib.table(markdown, "Layers"):
            (folder,) = sourcelib.quoted(cells[0])
            self.rows[folder] = sourcelib.quoted(cells[1])

    def row_of(self, path):
        """(the folder a file belongs to, the name of its row), or nothing."""
        parts = path.split("/")[:-1]
        for depth in range(len(parts), 0, -1):
            folder = "/".join(parts[:depth])
            if folder in self.rows:
                return folder, folder
            parent = "/".join(parts[:depth - 1])
            for row in self.rows:
                if parent and row.startswith(parent + "/<"):
                    return folder, row
        return None

    def allows(self, path, included):
        """Nothing when `path` may include `included` (both below src/), else the reason."""
        mine = self.row_of(path)
        theirs = self.row_of(included)
        if mine is None or theirs is None:
            return f"{path if mine is None else included} is in no folder of the table"
        folder, row = mine
        if folder == theirs[0]:
            return None
        for allowed in self.rows[row]:
            if theirs[0] == allowed or theirs[1] == allowed or theirs[0].startswith(allowed + "/"):
                return None
        return f"{folder} may not include {theirs[0]}"


class Libraries:
    """The table "Libraries": names of headers, and the files and folders that may include them."""

    def __init__(self, markdown):
        self.rows = []
        for _, cells in sourcelib.table(markdown, "Libraries"):
            self.rows.append((cells[0], *(sourcelib.quoted(cell) for cell in cells[1:4])))

    @staticmethod
    def covers(entries, name):
        return any(name == e or name.startswith(e.rstrip("/") + "/") for e in entries)

    def allows(self, path, header):
        if STANDARD.fullmatch(header):
            return None
        for library, names, in_headers, in_sources in self.rows:
            if not self.covers(names, header):
                continue
            allowed = in_headers if path.endswith(".h") else in_sources
            if self.covers(allowed, path):
                return None
            kind = "headers" if path.endswith(".h") else "sources"
            return f"<{header}>: {library} may not be included here ({kind})"
        return f"<{header}> belongs to no library of the table"


def check(root):
    markdown = sourcelib.read("ARCHITECTURE.md", root)
    layers = Layers(markdown)
    libraries = Libraries(markdown)
    findings = []
    for path in sourcelib.files(".h", ".cc", under=["src"], root=root):
        inside = path.removeprefix("src/")
        for line, name, is_ours in sourcelib.includes(sourcelib.read(path, root)):
            if is_ours and not any((root / "src" / f).is_file() for f in (name, name + ".in")):
                reason = f'there is no src/{name}; quotes are for our headers, named from src/'
            elif is_ours:
                reason = layers.allows(inside, name)
            else:
                reason = libraries.allows(inside, name)
            if reason:
                findings.append(Finding(path, line, reason))
    return findings


if __name__ == "__main__":
    sourcelib.main(check)
