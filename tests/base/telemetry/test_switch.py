"""Who switches telemetry on, what that loads, and what a command sets up then."""

import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from rightcall import load_policy
from rightcall.base.telemetry import NO_SPAN, OFF, LiveTelemetry, telemetry_for
from rightcall.base.telemetry.conventions import CHAT, CHAT_LATEST, captures_content, chat_work, is_wanted
from rightcall.base.telemetry.sdk import exporters_of
from rightcall.base.telemetry.spans import LiveSpan, Span, Telemetry
from rightcall.policy.tightening import tighten
from support.cli import write_trusted
from support.every import every

pytestmark = pytest.mark.promise("H-11")

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}


@every(
    ("said", "environment", "wanted"),
    [
        (None, {}, False),
        (None, ENDPOINT, True),
        (None, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, True),
        (None, {"OTEL_TRACES_EXPORTER": "console"}, True),
        (None, {"OTEL_TRACES_EXPORTER": "none"}, False),
        (None, {**ENDPOINT, "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, False),
        (None, {"OTEL_SERVICE_NAME": "mine"}, False),
        (True, {}, True),
        (False, ENDPOINT, False),
        (True, {**ENDPOINT, "OTEL_SDK_DISABLED": "true"}, False),
        (None, {**ENDPOINT, "OTEL_SDK_DISABLED": "TRUE"}, False),
    ],
)
def test_the_policy_or_the_environment_switches_it_on(
    said: bool | None, environment: Mapping[str, str], wanted: bool
) -> None:
    assert is_wanted(said, environment) is wanted


@pytest.mark.promise("P-05")
def test_a_policy_that_nobody_trusts_can_only_switch_it_off() -> None:
    on, off = load_policy({"telemetry": {"enabled": True}}), load_policy({"telemetry": {"enabled": False}})
    assert tighten(on).telemetry.enabled is None
    assert tighten(off).telemetry.enabled is False


@every(
    ("said", "captured"),
    [("SPAN_ONLY", True), ("span_and_event", True), ("EVENT_ONLY", False), ("NO_CONTENT", False), ("true", False)],
)
def test_content_needs_one_of_two_words(said: str, captured: bool) -> None:
    assert captures_content({"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": said}) is captured


def test_the_newest_name_of_the_models_metric_is_asked_for() -> None:
    assert chat_work({}) is CHAT
    assert chat_work({"OTEL_SEMCONV_STABILITY_OPT_IN": "http,gen_ai_latest_experimental"}) is CHAT_LATEST


def test_the_twin_does_nothing_and_has_every_method() -> None:
    for live, twin in ((LiveSpan, Span), (LiveTelemetry, Telemetry)):
        public = {name for name in dir(live) if not name.startswith("_")}
        assert public - set(dir(twin)) <= {"told", "backend", "observe", "content"}
    with OFF.tool("x") as span:
        span.tell({"a": 1})
        span.fail("x")
        span.child("y", 0, {})
        assert span.call("tools/call") is span is NO_SPAN
        assert (span.meta(), span.headers([(b"a", b"b")]), OFF.meta(), OFF.now()) == ({}, [(b"a", b"b")], {}, 0)


def test_it_says_what_is_missing_where_the_policy_asks_for_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "rightcall.base.telemetry.otel", raising=False)
    assert not telemetry_for(True).is_on
    assert "pip install 'rightcall[otel]'" in caplog.text


ADD = "from rightcall import tool\n@tool(effects=['read'])\ndef add(a: int) -> int:\n    return a\nTOOLS = [add]\n"


def ran(folder: Path, environment: Mapping[str, str], *, policy: str = "", trusted: bool = True) -> str:
    """What `rightcall run` loads and prints, with this policy file in its folder."""
    (folder / "own.py").write_text(ADD)
    if policy and trusted:
        write_trusted(folder / "rightcall.toml", policy)
    elif policy:
        (folder / "rightcall.toml").write_text(policy)
    script = (
        "import sys; from rightcall.cli import main; code = main(['run', 'add', '{\"a\": 1}', '--tools', 'own:TOOLS']);"
        "print('LOADED', 'opentelemetry' in sys.modules, file=sys.stderr); sys.exit(code)"
    )
    kept = {name: text for name, text in os.environ.items() if not name.startswith("OTEL_")}
    whole = {**kept, "PYTHONPATH": str(folder), **environment}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=whole, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_nothing_of_it_is_loaded_where_it_is_off(tmp_path: Path) -> None:
    assert "LOADED False" in ran(tmp_path, {})


@pytest.mark.promise("P-05")
def test_a_found_policy_sends_nothing_before_it_is_trusted(tmp_path: Path) -> None:
    asks = "[telemetry]\nenabled = true\n"
    assert "LOADED False" in ran(tmp_path, {}, policy=asks, trusted=False)
    assert "LOADED True" in ran(tmp_path, {"OTEL_TRACES_EXPORTER": "none"}, policy=asks)


def test_a_command_prints_its_spans_where_that_is_asked_for(tmp_path: Path) -> None:
    said = ran(tmp_path, {"OTEL_TRACES_EXPORTER": "console"})
    assert '"name": "execute_tool add"' in said
    assert '"service.name": "rightcall"' in said
    assert "4318" not in said  # no metrics go to a collector that nobody named


@pytest.mark.parametrize("environment", [ENDPOINT, {"OTEL_TRACES_EXPORTER": "console"}])
def test_a_command_says_that_the_package_is_missing_which_the_environment_asks_for(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    (tmp_path / "opentelemetry.py").write_text("raise ModuleNotFoundError('no', name='opentelemetry')\n")
    said = ran(tmp_path, environment)
    assert "rightcall: telemetry is not sent: opentelemetry is not installed" in said
    assert "pip install 'rightcall[otel]'" in said


@pytest.mark.parametrize(
    ("environment", "sent"),
    [
        ({}, {"traces", "metrics"}),  # the policy asks for it
        ({"OTEL_TRACES_EXPORTER": "console"}, {"traces"}),
        ({"OTEL_METRICS_EXPORTER": "console"}, {"metrics"}),
        ({"OTEL_TRACES_EXPORTER": "console", **ENDPOINT}, {"traces", "metrics"}),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:1"}, {"traces"}),
        ({"OTEL_TRACES_EXPORTER": "none", **ENDPOINT}, {"metrics"}),
    ],
)
def test_only_what_the_environment_names_is_sent(
    monkeypatch: pytest.MonkeyPatch, environment: Mapping[str, str], sent: set[str]
) -> None:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    made = {signal: exporters_of(signal) for signal in ("traces", "metrics")}
    assert {signal for signal, exporters in made.items() if exporters} == sent
    for exporter in [one for exporters in made.values() for one in exporters]:
        exporter.shutdown()


def test_an_exporter_that_is_not_there_is_told_and_stops_nothing(tmp_path: Path) -> None:
    assert "an exporter called zipkin is not installed" in ran(tmp_path, {"OTEL_TRACES_EXPORTER": "zipkin"})


def test_a_command_sends_its_spans_by_otlp(tmp_path: Path) -> None:
    with collector() as (address, got):
        ran(tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_SERVICE_NAME": "desk"})
    assert {path for path, _ in got} == {"/v1/traces", "/v1/metrics"}
    everything = b"".join(body for _, body in got)
    assert b"execute_tool add" in everything
    assert b"gen_ai.execute_tool.duration" in everything
    assert b"desk" in everything


@contextmanager
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A real HTTP server that keeps what exporters send."""
    got: list[tuple[str, bytes]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            import gzip

            body = self.rfile.read(int(self.headers["content-length"]))
            got.append((self.path, gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
