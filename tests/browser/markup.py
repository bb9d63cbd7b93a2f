"""Whether a page is valid HTML. html5lib parses it as browsers have to, and says what they mend in silence; tidy knows what
may stand in what."""
import re
import subprocess

import html5lib

# Attributes of HTML and of ARIA 1.1 that are younger than Debian's tidy.
YOUNGER_THAN_TIDY = re.compile(r'proprietary attribute "(?:autocapitalize|enterkeyhint|aria-current|aria-keyshortcuts)"')


def faults_of(page):
    """What is wrong with a page, in bytes; nothing when it is valid."""
    parser = html5lib.HTMLParser()
    parser.parse(page, transport_encoding="utf-8")
    faults = [f"line {line}: {code} {about or ''}" for (line, _), code, about in parser.errors]
    told = subprocess.run(["/usr/bin/tidy", "-q", "-e", "-utf8"], input=page, capture_output=True).stderr.decode()
    return faults + [line for line in told.splitlines() if line and not YOUNGER_THAN_TIDY.search(line)]
