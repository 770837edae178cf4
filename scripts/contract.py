"""Measure the contract matrix: every failure at every door, alone and with RightCall; the table of docs/hosts/index.md.

python scripts/contract.py                          the table, from the tools and damage of the tests
python scripts/contract.py --tools FILE --seed 7    other tools (as tests_hosts/contract/tools.json), other damage
python scripts/contract.py --doors proxy,langchain  some doors only
python scripts/contract.py --write                  what is stated, into docs/hosts/index.md; nothing is measured

Runs in the environment of `make test-hosts`. It ends with 1 where a door does something else than is stated.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:1] = [str(ROOT / "src"), str(ROOT / "tests")]  # not this folder, where `contract` would be this file
sys.path.append(str(ROOT / "tests_hosts"))

from contract.cases import TOOLS, make_cases, read_tools
from contract.matrix import MATRIX, markdown, measured, with_table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=Path, default=TOOLS, metavar="FILE", help="at least three tools, as JSON")
    parser.add_argument("--seed", type=int, default=0, help="which damage; 0 is that of the tests")
    parser.add_argument("--doors", default=",".join(MATRIX), help="comma-separated; default: all")
    parser.add_argument("--write", action="store_true", help="put what is stated into docs/hosts/index.md")
    options = parser.parse_args()
    if options.write:
        page = ROOT / "docs" / "hosts" / "index.md"
        page.write_text(with_table(page.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    tools = read_tools(options.tools)
    cases = make_cases(tools, options.seed)
    doors = options.doors.split(",")
    if unknown := [door for door in doors if door not in MATRIX]:
        parser.error(f"there is no door {unknown[0]!r}; the doors are {', '.join(MATRIX)}")
    alone, guarded, impossible = {}, {}, []
    for door in doors:
        try:
            alone[door], guarded[door] = (measured(door, cases, tools, guarded=us) for us in (False, True))
        except Exception as error:  # noqa: BLE001 - a host that has no such tools, such as smolagents with `save-note`
            impossible.append(f"{door}: cannot be measured with these tools: {type(error).__name__}: {error}")
    print(markdown({door: alone[door] for door in guarded}, guarded))
    other = [
        f"{door}, {failure}: {guarded[door][failure]}, stated is {stated}"
        for door in guarded
        for failure, stated in MATRIX[door].stated(guarded=True).items()
        if guarded[door][failure] != stated
    ]
    if other or impossible:
        print("\n" + "\n".join(other + impossible), file=sys.stderr)
    return 1 if other or impossible else 0


if __name__ == "__main__":
    sys.exit(main())
