"""A gateway with pages in it, published by command as an operator does."""
import json
import subprocess

from wire import ROOT, SLUICE, TIMEOUT_S, Sluice

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
PIN = "2468"
UNLIMITED = "[titles]\nlimit_minute = 10000\nlimit_hour = 10000\n"


class Site(Sluice):
    def __init__(self, settings=UNLIMITED):
        super().__init__(settings=settings, keys=False, routing=False)
        self.url = f"http://127.0.0.1:{self.port}"
        lines = "".join(json.dumps(page) + "\n" for page in [*PAGES, SEALED])
        self.pages("import", "-", text=lines)
        self.pages("claim", str(SEALED["id"]), "--pin", text=PIN + "\n")

    def pages(self, *args, text):
        subprocess.run([SLUICE, "pages", *args, "--config", self.config, "--data-dir", self.data_dir],
                       input=text, check=True, capture_output=True, text=True, timeout=TIMEOUT_S)
