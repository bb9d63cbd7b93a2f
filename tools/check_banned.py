#!/usr/bin/env python3
"""Calls that the project does without, each with the reason and the few files that may.

An exception that nothing needs is a finding too: the list only shrinks by itself."""

import dataclasses
import re

import sourcelib
from sourcelib import Finding

CODE = ("src", "tests", "bench", "fuzz")


@dataclasses.dataclass(frozen=True)
class Ban:
    pattern: str
    reason: str
    allowed: tuple = ()  # files
    where: tuple = ("src",)  # folders
    beside: tuple = ()  # folders inside them that it does not speak to


def call(*names):
    """A call of one of the functions, qualified by std:: or :: or not, and no member's."""
    return rf"(?<![\w.>])(?<!\w::)(?:(?:std)?::)?(?:{'|'.join(names)})\s*\("


BANS = (
    Ban(r"\b(?:steady|system|high_resolution)_clock::now\b",
        "take a Clock, or an Instant as an argument", ("src/base/clock.cc",),
        ("src", "tests", "fuzz")),
    # Members and variables are called time and clock too; only the C functions take these arguments.
    Ban(call("clock_gettime", "gettimeofday")
        + "|" + call("time") + r"\s*(?:nullptr|NULL|0|&)" + "|" + call("clock") + r"\s*\)",
        "take a Clock, or an Instant as an argument"),
    Ban(r"\bsleep_for\b|\bthis_thread::sleep_until\b|"
        + call("usleep", "nanosleep") + "|" + call("sleep") + r"\s*\d",
        "nothing sleeps: await Clock::sleep_until, and in tests move a ManualClock", (), CODE),
    Ban(call("rand", "srand", "drand48", "getrandom") + "|" + call("random") + r"\s*\)"
        + r"|\brandom_device\b|\bmt19937(?:_64)?\b",
        "take a Random, which tests seed"),
    Ban(call("getenv", "secure_getenv", "setenv", "putenv") + r"|\benviron\b",
        "take an Environment", ("src/base/environment.cc",)),
    Ban(r"\bstd::w?regex\b|#\s*include\s*<regex>",
        "std::regex recurses on its input and is slow: write the few lines of scanning", (), CODE),
    # unique_ptr<T>(new T(...)) remains: make_unique can't call a private constructor.
    Ban(r"(?<!>\()\bnew\s+[A-Za-z_:]", "std::make_unique or std::make_shared"),
    Ban(r"(?<!operator )\bdelete\b\s*(?:\[\s*\]\s*)?[A-Za-z_(*:]|"
        + call("malloc", "calloc", "realloc", "free"),
        "let an owner release it",
        ("src/guard/node_table.h",)),  # a large zeroed array whose pages are taken when touched
    Ban(call("v?f?printf", "vs?n?printf", "sn?printf", "f?puts", "putchar"),
        "append to a string, std::to_chars for numbers",
        ("src/base/result.cc",),  # the last words of a process whose memory may be broken
        beside=("src/app",)),
    Ban(call("atoi", "atol", "atof", "strto[a-z]+", "sscanf"),
        "std::from_chars: it knows no locale and says what went wrong"),
    Ban(r"\bstd::sto(?:i|l|ul|ll|ull|f|d|ld)\s*\(",
        "std::from_chars: it throws nothing and knows no locale"),
    Ban(call("strcpy", "strncpy", "strcat", "strncat", "gets", "alloca"), "use std::string"),
    Ban(r"\bstd::(?:cout|cerr|clog|wcout)\b",
        "log through obs::Log; only commands print", beside=("src/app",)),
    Ban(r"(?<!\w)::(?:socket|connect|accept4?|bind|listen|send|sendto|recv|recvfrom)\s*\(",
        "the network is reached through io/ only", beside=("src/io",)),
    Ban(call("system", "popen", "fork", "vfork", "execl[pe]?", "execvp?e?", "posix_spawnp?"),
        "the server starts no other programs"),
    Ban(r"\bco_spawn\s*\(", "TaskScope::spawn counts the task and reports what it throws",
        ("src/base/task.cc",
         "src/io/http_session.cc"),  # the session waits for its reply
        beside=("src/app",)),  # which owns the loops and waits for them
    Ban(r"\.detach\s*\(\s*\)|\basio::detached\b|\bstd::async\b",
        "somebody must wait for it: a TaskScope, or a joined std::thread"),
    Ban(call("assert"), "SLUICE_ASSERT, which stays on in release builds"),
    Ban(r"\busing\s+namespace\s+std\s*;", "names of std are written out", (), CODE),
    Ban(r"\bconst_cast\b", "make it mutable where it is declared, or copy it"),
)

def is_under(path, folders):
    return path.startswith(tuple(f"{folder}/" for folder in folders))


def scan(path, text, bans=BANS):
    """Findings in one file, and the bans whose exception it used."""
    code = sourcelib.without_comments(text)
    findings, used = [], set()
    for ban in bans:
        if not is_under(path, ban.where) or is_under(path, ban.beside):
            continue
        for match in re.finditer(ban.pattern, code):
            if path in ban.allowed:
                used.add(ban)
                continue
            line = code.count("\n", 0, match.start()) + 1
            word = " ".join(match.group().split()).rstrip("( ")
            findings.append(Finding(path, line, f"{word}: {ban.reason}"))
    return findings, used


def check(root, bans=BANS):
    findings, used = [], set()
    for path in sourcelib.files(".h", ".cc", under=CODE, root=root):
        found, allowed = scan(path, sourcelib.read(path, root), bans)
        findings += found
        used |= {(path, ban) for ban in allowed}
    for ban in bans:
        for path in ban.allowed:
            if (path, ban) not in used:
                findings.append(Finding(
                    "tools/check_banned.py", 0, f"{path} does not need its exception ({ban.reason})"))
    return findings


if __name__ == "__main__":
    sourcelib.main(check)
