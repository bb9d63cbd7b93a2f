"""A gateway with pages in it, published by command as an operator does."""
import json
import pathlib
import subprocess
import tempfile

from title_search import Held, scoring
from wire import ROOT, SLUICE, TIMEOUT_S, Sluice, until

TITLES = [row["title"] for row in json.loads((ROOT / "tests" / "cases" / "titles" / "titles.json").read_text())]
BODY = """**Before you deploy**, read this.

1. Say what you are about to do.
2. Do it, and watch.

```
kubectl diff -f .
```

> Whoever deploys last locks the door.
"""
PAGES = [{"id": number, "title": title, "author": "" if number % 3 else "Ada", "body": BODY}
         for number, title in enumerate(TITLES, 1)]
SEALED = {"id": len(PAGES) + 1, "title": "Sealed", "slug": "sealed", "body": "Nobody knows."}
# Whatever a body may hold, and characters that mean something in HTML.
EVERYTHING = {"title": "Every <kind> of \"text\" & 'more'", "slug": "everything", "author": "A <b> & \"C\"",
              "lifecycle": "unlisted", "body": r"""
# One
## Two

Three
=====

Plain *leaning* **strong** ***both*** `a < b & c` \* &amp; &copy; &nope; a\
break, [a link](https://pages.example/?a=1&b=2 "its \"title\""), <https://pages.example/>, ![a picture](/picture.png "its title").

---

1. one
   - two

     and more
   - > quoted

     ```sh
     x < y && z
     ```
3) three

> # Quoted
> - a list

    code

<div class="x">HTML</div> and <b>more <script>alert(1)</script></b> <!-- of it --> [run](javascript:alert(1))
"""}
PIN = "2468"
UNLIMITED = "[titles]\nlimit_minute = 10000\nlimit_hour = 10000\n"


class Site(Sluice):
    def __init__(self, settings=UNLIMITED, faults=None):
        """`faults` are those of the scoring: docs/record-and-replay.md."""
        args = []
        if faults:
            self.script = tempfile.TemporaryDirectory()
            script = pathlib.Path(self.script.name) / "faults.toml"
            script.write_text(faults)
            args = ["--replay", ROOT / "demo" / "recordings", "--replay-faults", script]
        super().__init__(settings=settings, keys=False, routing=False, args=args)
        self.url = f"http://127.0.0.1:{self.port}"
        lines = "".join(json.dumps(page) + "\n" for page in [*PAGES, SEALED, EVERYTHING])
        self.pages("import", "-", text=lines)
        self.pages("claim", str(SEALED["id"]), "--pin", text=PIN + "\n")

    def pages(self, *args, text):
        subprocess.run([SLUICE, "pages", *args, "--config", self.config, "--data-dir", self.data_dir],
                       input=text, check=True, capture_output=True, text=True, timeout=TIMEOUT_S)


class BusySite(Site):
    """One whose threads are all scoring, until let_go()."""

    def __init__(self):
        super().__init__(faults='[title_faults.held]\nfault = "delay"\ndelay_s = "1h"\nto_call = 2\n')
        self.held = [Held(self, "one+of+them"), Held(self, "the+other")]
        until(lambda: scoring(self) == 2)

    def let_go(self):
        self._leave()
        until(lambda: scoring(self) == 0)

    def stop(self, **how):
        self._leave()
        return super().stop(**how)

    def _leave(self):
        while self.held:
            self.held.pop().leave()


def broken_site():
    """One whose scoring fails."""
    return Site(faults='[title_faults.broken]\nfault = "fail"\n')
