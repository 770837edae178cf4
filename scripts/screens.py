"""Pictures of the console for the documentation: overview, inbox and a call, taken in a real browser.

    make screens        needs Chromium

The console is the one of the tests in a browser: a real store, real calls. Times differ from run to run, so nothing
compares the pictures; take them anew when a screen has changed.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.busy_console import busy_console, enter
from support.chromium import Chromium

IMAGES = ROOT / "docs" / "images"
PICTURES = {"overview": ("/", 900), "inbox": ("question", 1000), "call": ("call", 1000)}
WIDTH = 1200
MOST_BYTES = 150_000


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, busy_console(Path(folder), hours=24) as busy, Chromium() as browser:
        page = browser.page()
        enter(page, busy.link())
        for scheme in ("light", "dark"):
            page.prefer(scheme)
            for name, (screen, height) in PICTURES.items():
                page.size(WIDTH, height)
                page.open(busy.url(screen))
                page.wait("document.getElementById('link').dataset.state === 'live'")
                file = IMAGES / f"console-{name}-{scheme}.png"
                drawn = page.picture()
                if len(drawn) > MOST_BYTES:
                    raise SystemExit(f"{file.name} would have {len(drawn)} bytes, more than {MOST_BYTES}")
                file.write_bytes(drawn)
                print(f"{file.relative_to(ROOT)}: {len(drawn) / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
