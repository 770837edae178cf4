"""Draw the pictures of the README from real commands, in a scratch folder: docs/images/demo-light.svg and -dark.svg;
a login for docs/login.md, at the protected server of the examples: docs/images/login-light.svg and -dark.svg;
and the trace of docs/operate/telemetry.md from a real one: docs/images/trace-light.svg and -dark.svg.

    python scripts/pictures.py            write the pictures
    python scripts/pictures.py --check    only say whether they differ; exit 1 if one does

Ids and times differ from run to run, so they are replaced by fixed ones. No picture loads anything from elsewhere.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME, TerminalTheme
from rich.text import Text

sys.path.insert(0, str(Path(__file__).parent))

from trace_picture import draw_trace

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
WIDTH = 104
THEMES = {"light": DEFAULT_TERMINAL_THEME, "dark": SVG_EXPORT_THEME}

POLICY = '[policy]\nallow = ["append_note"]\nwrite = "ask"\nexecute = "ask"\n'
TOOLS = (
    '[{"name": "get_weather", "parameters": {"type": "object", "required": ["city"], "properties": '
    '{"city": {"type": "string"}, "days": {"type": "integer"}}}}]'
)
SHOWN = (
    """rightcall check getWeather "{'location': 'Bern', days: 'three',}" --tools weather.json""",
    """rightcall check get_weather '{"days": 3}' --tools weather.json""",
    """rightcall run append_note '{"path": "notes.txt", "line": "buy milk"}' --tools examples.mytools:TOOLS""",
)
"""A broken call that is repaired, a wrong one that is refused with its hint, one that waits for a person."""

LOGIN = (
    "rightcall run notes/list '{}'",
    "rightcall login notes",
    """rightcall run notes/list '{"page": 1}'""",
)
"""A call that is refused, a login, and the call that is let in."""
BROWSER = """\
import re, sys
from html import unescape
from urllib.request import urlopen

page = urlopen(sys.argv[1]).read().decode()
urlopen(unescape(re.search(r"href='(.*?)'", page)[1])).read()
"""

FIXED = (
    (re.compile(r"\b[0-9a-f]{8}\b"), "3f9a1c2e"),
    (re.compile(r"\d+(\.\d+)? ms"), "1 ms"),
    (re.compile(r"authorize\?\S+"), "authorize?response_type=code&…"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:4150"),
    (re.compile(r"valid until [\d-]+ \d\d:\d\d"), "valid until 2026-01-01 12:00"),
)

# Rich's own frame, without its `@font-face` rules, which load a font from a CDN.
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px;
line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""


def run_commands(commands: tuple[str, ...], policy: str) -> str:
    """What the commands print, each below its prompt, with colours."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "rightcall.toml").write_text(policy, encoding="utf-8")
        (folder / "weather.json").write_text(TOOLS, encoding="utf-8")
        programs = {
            "rightcall": f'exec "{sys.executable}" -m rightcall "$@"',
            "browser": f'exec "{sys.executable}" "$0.py" "$@"',
        }
        (folder / "bin").mkdir()
        (folder / "bin" / "browser.py").write_text(BROWSER, encoding="utf-8")
        for program, line in programs.items():
            (folder / "bin" / program).write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
            (folder / "bin" / program).chmod(0o755)
        environment = {
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src"),
            "HOME": name, "XDG_STATE_HOME": name, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "LANG": "C.UTF-8",
            "BROWSER": f"{folder / 'bin' / 'browser'} %s", "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        }  # fmt: skip
        run("rightcall trust --yes", folder, environment)
        return "\n".join(f"\x1b[1m$ {command}\x1b[0m\n{run(command, folder, environment)}" for command in commands)


def run_login() -> str:
    """The same beside the protected server of the examples."""
    program = [sys.executable, str(ROOT / "examples" / "protected_server.py"), "--port", "0"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            url = server.stdout.readline().split()[3].rstrip(",")
            return run_commands(LOGIN, f'[servers.notes]\nurl = "{url}"\neffects = ["read"]\n')
        finally:
            server.terminate()


def run(command: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.decode()


def draw(printed: str, theme: TerminalTheme) -> str:
    for pattern, fixed in FIXED:
        printed = pattern.sub(fixed, printed)
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    console.print(Text.from_ansi(printed))
    drawn = console.export_svg(title="rightcall", theme=theme, code_format=FRAME, unique_id="rightcall")
    return "\n".join(line.rstrip() for line in drawn.splitlines()) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a picture differs")
    check = parser.parse_args().check
    printed, login = run_commands(SHOWN, POLICY), run_login()
    wrong = False
    pictures = {f"demo-{name}.svg": draw(printed, theme) for name, theme in THEMES.items()}
    pictures |= {f"login-{name}.svg": draw(login, theme) for name, theme in THEMES.items()}
    pictures |= {f"trace-{name}.svg": draw_trace(name) for name in THEMES}
    for name, drawn in pictures.items():
        file = IMAGES / name
        if not file.is_file() or file.read_text(encoding="utf-8") != drawn:
            wrong = True
            print(f"{'differs' if check else 'wrote'}: {file.relative_to(ROOT)}")
            if not check:
                file.write_text(drawn, encoding="utf-8")
    return 1 if check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
