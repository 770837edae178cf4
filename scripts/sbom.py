"""Write the bill of materials of a wheel, as CycloneDX 1.6 JSON: python scripts/sbom.py dist

It names RightCall and every package that it loads when installed with the extra `all`, in the versions of
constraints.txt, with the licences that their metadata state. Nothing in it depends on the time or the machine.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
EXTRA = "all"


def needed(found: Distribution, extras: set[str], seen: dict[str, Distribution]) -> Iterator[str]:
    """The packages that one needs here, and what they need, each once into `seen`. Yields its direct ones."""
    for line in found.requires or ():
        wanted = Requirement(line)
        if wanted.marker and not any(wanted.marker.evaluate({"extra": extra}) for extra in {"", *extras}):
            continue
        name = plain(wanted.name)
        if name == "rightcall":  # one extra that names others
            yield from needed(found, set(wanted.extras), seen)
            continue
        yield name
        if name not in seen:
            seen[name] = distribution(wanted.name)
            list(needed(seen[name], set(wanted.extras), seen))


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def component(found: Distribution, kind: str = "library") -> dict[str, Any]:
    name, version = plain(found.name), found.version
    stated = found.metadata.json
    licence = str(stated.get("license_expression") or stated.get("license") or "")
    told: dict[str, Any] = {"type": kind, "bom-ref": f"pkg:pypi/{name}@{version}", "name": name, "version": version}
    if licence and "\n" not in licence.strip():
        told["licenses"] = [{"license": {"name": licence.strip()}}]
    return {**told, "purl": f"pkg:pypi/{name}@{version}"}


def bill() -> dict[str, Any]:
    own = distribution("rightcall")
    seen: dict[str, Distribution] = {}
    direct = sorted(set(needed(own, {EXTRA}, seen)))
    parts = {name: component(found) for name, found in sorted(seen.items())}
    main = component(own, "application")
    depends = [{"ref": main["bom-ref"], "dependsOn": [parts[name]["bom-ref"] for name in direct]}]
    for name, found in sorted(seen.items()):
        below = sorted(set(needed(found, set(), dict(seen))))
        depends.append({"ref": parts[name]["bom-ref"], "dependsOn": [parts[one]["bom-ref"] for one in below]})
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": main},
        "components": list(parts.values()),
        "dependencies": depends,
    }


def main(folder: str) -> int:
    try:
        told = bill()
    except PackageNotFoundError as error:
        print(f"scripts/sbom.py: {error} is not installed; run `make test` first")
        return 1
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    file = Path(folder) / f"rightcall-{version}.cdx.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {file}: {len(told['components'])} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "dist"))
