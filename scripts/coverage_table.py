"""Branch coverage by package, from the data that the tests have left in `.coverage`.

    python scripts/coverage_table.py

`lines` and `branches` are the shares that ran: of the statements, and of the ways that a statement can go on.
"""

import json
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path, PurePath

KEYS = ("covered_lines", "num_statements", "covered_branches", "num_branches")


def totals() -> dict[str, Counter[str]]:
    """What was counted in each package, and in all of them as `total`."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "coverage.json")
        subprocess.run([sys.executable, "-m", "coverage", "json", "-q", "-o", str(report)], check=True)
        files = json.loads(report.read_text(encoding="utf-8"))["files"]
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for file, facts in files.items():
        within = PurePath(file).parts
        within = within[within.index("rightcall") + 1 :]
        package = f"{within[0]}/" if len(within) > 1 else "rightcall"
        for name in (package, "total"):
            counted[name].update({key: facts["summary"][key] for key in KEYS})
    return counted


def share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def main() -> int:
    counted = totals()
    print(f"{'package':<12}{'statements':>12}{'lines':>8}{'branches':>10}{'both':>8}")
    for name in [*sorted(counted.keys() - {"total"}), "total"]:
        lines, statements, taken, branches = (counted[name][key] for key in KEYS)
        both = share(lines + taken, statements + branches)
        print(f"{name:<12}{statements:>12,}{share(lines, statements):>8}{share(taken, branches):>10}{both:>8}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
