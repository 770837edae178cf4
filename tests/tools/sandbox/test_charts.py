"""Charts from sandboxed code: the plotting library is lent to it, and what it draws comes back."""

import os
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from rightcall.executor.messages import Outcome, message, shape
from rightcall.executor.shipped import execute_tools
from rightcall.policy.settings import SandboxSettings
from rightcall.tools.sandbox import charts
from rightcall.tools.sandbox.charts import png_size
from rightcall.tools.sandbox.conversation import Job, NoSandbox, Tier
from rightcall.tools.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.promise("X-81")

TOOL = "code/execute/python"
SETTINGS = SandboxSettings(seconds=20.0)
DRAWS = """
import os, sys
import matplotlib.pyplot as plt
plt.plot([1, 2, 3], [1, 4, 9], "o-", label="a --> <b> & 'c'")
plt.bar([1], [2], hatch="/")
plt.scatter(range(50), range(50), c=range(50))
plt.imshow([[1, 2], [3, 4]])
plt.title("Squares $x^2$ url(http://x.example)")
plt.legend()
plt.savefig("squares.svg")
plt.show()
print(os.environ["MPLCONFIGDIR"], sorted(os.listdir(".")))
for name in ("msgspec", "rightcall"):
    try:
        __import__(name)
        print("can see", name)
    except ImportError:
        pass
try:
    os.listdir(os.path.dirname(os.path.dirname(plt.__file__)) + "/../msgspec")
    print("can look around")
except OSError:
    pass
try:
    import socket
    socket.create_connection(("127.0.0.1", 9), 1)
except PermissionError:
    print("no network")
except OSError as error:
    print(type(error).__name__)
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with closing(Sandbox()) as made:
        try:
            made.tier()
        except NoSandbox as fault:
            pytest.skip(str(fault))
        if charts.lent_packages() is None:
            pytest.skip("matplotlib is not installed")
        yield made


def run(sandbox: Sandbox, code: str, **more: Any) -> Any:
    (tool,) = (one for one in execute_tools(SETTINGS, lambda: sandbox) if one.name == TOOL)
    return tool.function(code=code, **more)


@pytest.mark.long
def test_what_a_program_draws_comes_back_as_pictures_and_nothing_else_does(sandbox: Sandbox) -> None:
    result = run(sandbox, DRAWS)
    assert (result["exitCode"], result["stderr"]) == (0, "")
    printed = result["stdout"].splitlines()
    assert printed[0].endswith("/.matplotlib ['.matplotlib', 'figure-1.png', 'main.py', 'squares.svg']")
    assert printed[1:] == ["no network"]
    shown, saved = result["files"]
    assert (shown["path"], shown["type"], shown["mediaType"]) == ("figure-1.png", "image", "image/png")
    assert png_size(b64decode(shown["data"])) == (shown["width"], shown["height"]) == (640, 480)
    assert (saved["path"], saved["type"], saved["mediaType"]) == ("squares.svg", "image", "image/svg+xml")
    assert saved["text"].startswith("<?xml")
    assert (saved["width"], saved["height"]) == (614, 461)

    lines = shape(TOOL, result)["files"]
    assert [line.split(",")[0] for line in lines] == ["[image figure-1.png 640×480", "[image squares.svg 614×461"]
    outcome = Outcome(ok=True, tool=TOOL, content="x", result=result)
    mcp = message(outcome, "mcp")
    assert mcp["content"] == [
        {"type": "text", "text": "x"},
        {"type": "image", "data": shown["data"], "mimeType": "image/png"},
        {
            "type": "resource",
            "resource": {"uri": "sandbox:///squares.svg", "mimeType": "image/svg+xml", "text": saved["text"]},
        },
    ]
    assert not any({"data", "text"} & file.keys() for file in mcp["structuredContent"]["files"])
    assert message(outcome, "anthropic")["content"] == [
        {"type": "text", "text": "x"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": shown["data"]}},
    ]
    assert message(outcome, "openai")["content"] == "x"


@pytest.mark.parametrize("tier", ["namespaces", "landlock"])
def test_the_library_s_parts_can_be_imported_in_each_tier_from_any_file(sandbox: Sandbox, tier: Tier) -> None:
    with closing(Sandbox(only=tier)) as other:
        try:
            other.tier()
        except NoSandbox as fault:
            pytest.skip(str(fault))
        lent = charts.lent_packages()
        assert lent is not None
        if other.python != sandbox.python or not charts._can_be_reached(lent, other):
            pytest.skip("what is installed here cannot be lent in this tier")
        code = "import helper, sys\nprint(helper.__name__, 'numpy' in sys.modules)"
        files = {"helper.py": "from PIL import Image\nImage.new('L', (3, 2)).save('dot.png')\n"}
        result = run(other, code, files=files)
        assert (result["stdout"], result["stderr"]) == ("helper False\n", "")
        assert [(file["path"], file["width"]) for file in result["files"]] == [("dot.png", 3)]


def test_without_the_library_a_model_is_told_what_to_do_instead(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "lent_packages", lambda: None)
    for code in ("import matplotlib.pyplot as plt", "from matplotlib import pyplot"):
        result = run(sandbox, code)
        assert result["hint"] == charts.MISSING
        assert shape(TOOL, result)["hint"] == (
            "matplotlib is not available in this sandbox. Do not try to install it. Print the figures as text, or "
            "write an SVG file without it."
        )
    for code in ("print(\"ModuleNotFoundError: No module named 'matplotlib'\")", "import matplotlib_extra", "1/0"):
        assert "hint" not in run(sandbox, code)


def test_only_programs_that_name_the_library_get_it(sandbox: Sandbox) -> None:
    job = Job(("main.py",), "/scratch", script="/scratch/main.py")
    for source in (b"print(1)", b"import os, json", b"import requests", b"# matplotlib", b"x = 'numpy'"):
        assert charts.lend_library(job, [source], sandbox) is job, source
    for source in (
        b"import os, numpy as np",
        b"from PIL import Image",
        b"import_module('matplotlib')",
        b"import pylab",
    ):
        lent = charts.lend_library(job, [b"import os", source], sandbox)
        assert {"matplotlib", "numpy", "PIL", "mpl_toolkits"} <= lent.packages.keys(), source
        assert {os.path.basename(path) for path in lent.visible} >= {"matplotlib", "numpy", "PIL"}
        assert not {"msgspec", "rightcall", "pytest"} & lent.packages.keys()
    other = Sandbox("/usr/bin/python3")
    if os.path.exists("/usr/bin/python3") and other.python != sandbox.python:
        assert charts.lend_library(job, [b"import numpy"], other) is job, "packages of another interpreter do not fit"
    other.close()


def test_fonts_are_listed_by_our_own_program_once_for_a_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fake(Sandbox):
        runs = 0

        def run(self, job: Job, *, out: Any = None, **_: Any) -> Any:
            self.runs += 1
            assert job.code is not None
            assert job.code.content.startswith(b"\nimport os, sys\nimport matplotlib")
            assert job.script == job.code.path
            out("stderr", b"noise")
            out("stdout", self.said)
            return type("Ended", (), {"code": self.code})

        said, code = b'fontlist-v390.json\n{"a": 1}', 0

    job = Job(("main.py",), "/scratch", script="/scratch/main.py")
    good = Fake()
    for _ in range(3):
        assert charts.font_files(job, good) == {".matplotlib/fontlist-v390.json": b'{"a": 1}'}
    assert good.runs == 1
    for said, code in ((b"", 0), (b"../../x\n{}", 0), (b"fontlist-v390.json\n{}", 1), (b"fontlist/../x.json\n", 0)):
        bad = Fake()
        bad.said, bad.code = said, code
        assert charts.font_files(job, bad) == {}, said
