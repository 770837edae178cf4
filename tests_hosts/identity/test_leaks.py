"""Nothing of twenty people's logins is left where it does not belong: scripts/identity_leaks.py, and what it finds."""

import base64
import json
import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from urllib.parse import quote

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "identity_leaks.py"
SECRET = "aZ-_9~secret/with+signs=="
WRITTEN = {
    "as it is": SECRET,
    "in an address": quote(SECRET, safe=""),
    "in hexadecimal": SECRET.encode().hex(),
    "in Base64": base64.b64encode(SECRET.encode()).decode(),
    "with a name before it": base64.b64encode(f"client:{SECRET}".encode()).decode(),
    "in the middle of Base64": base64.b64encode(f"ab{SECRET}yz".encode()).decode(),
    "in Base64 for addresses": base64.urlsafe_b64encode(f"a{SECRET}yz".encode()).decode(),
}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = spec_from_file_location("identity_leaks", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    found = module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_a_secret_is_found_however_it_is_written(written: str, script: ModuleType) -> None:
    traces = script.Traces()
    traces.add("log", f"before {written} after")
    assert script.search(traces, [SECRET])
    assert not script.search(traces, [SECRET.upper()])


@pytest.mark.promise("I-04")
def test_nothing_is_left_of_twenty_logins_in_ten_thousand_lines(npm_bin: Path) -> None:
    env = {**os.environ, "RIGHTCALL_NPM_BIN": str(npm_bin)}
    done = subprocess.run([sys.executable, SCRIPT, "--json"], capture_output=True, text=True, timeout=500, env=env)
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["found"] == []
    assert told["readable"] == 0
    assert told["lines"] >= 10_000
    assert told["secrets"] >= 150
