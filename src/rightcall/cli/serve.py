"""Run RightCall's server: the proxy for models, /health and /metrics, in one process on this machine. Without
--upstream a practice model answers, which breaks its calls on purpose, so that one can see what happens to them. Where
the policy file names MCP servers ([servers.NAME]) they are joined at /mcp, under the same policy."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from rightcall.cli.serving import base_url, missing_package, program, serve_upstream, serving_options
from rightcall.cli.terminal import Style

EXAMPLES = """\
examples:
  rightcall serve
  rightcall serve --upstream http://localhost:11434
  rightcall serve --upstream http://localhost:8080 --policy rightcall.toml --port 0 --json
"""

_BODY = """{"model": "rightcall-practice", "messages": [{"role": "user", "content": "Weather in Bern, 3 days?"}],
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
          "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city", "days"]}}}]}"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--upstream", metavar="URL", help="the model's server (default: the practice model)")
    serving_options(parser)


def run(options: Namespace) -> int:
    if options.upstream is not None:
        return serve_upstream(
            options,
            options.upstream,
            lambda base, token, style: _describe_start(base, token, style, False),
            gateway=True,
        )
    try:
        from rightcall.doctor.practice import practice_app
        from rightcall.server.app import running
    except ImportError as missing:
        raise missing_package(missing) from missing
    with running(practice_app()) as (host, port):
        upstream = f"http://{host}:{port}"
        return serve_upstream(
            options, upstream, lambda base, token, style: _describe_start(base, token, style, True), gateway=True
        )


def _describe_start(base: str, token: str | None, style: Style, practice: bool) -> list[str]:
    url = base_url(base, token)
    model = "the practice model, which breaks its calls on purpose" if practice else "your upstream"
    command = program()
    first = (
        f"   curl -si {url}/v1/chat/completions -H 'content-type: application/json' -d '{_BODY}'"
        if practice
        else f"   curl -s {url}/v1/models"
    )
    return [
        f"RightCall serves {style.tint(base, 'bold')} in front of {model}.",
        f"  health   {url}/health",
        f"  metrics  {url}/metrics",
        f"  token    {token or 'none is needed (--open)'}",
        "",
        "Three things to try:",
        "1. A request through the proxy; the header x-rightcall says what was done to the answer:",
        first,
        f"2. The base URL for a client: {style.tint(f'{url}/v1', 'bold')} (Anthropic's and Ollama's: {url})",
        f"   In front of a model of yours: {command} serve --upstream http://localhost:11434",
        "3. Two lines for rightcall.toml here, so that nothing is changed but everything told:",
        "   [gate.hosts.proxy]",
        '   mode = "observe"',
        f"   They count once you trust the file ({command} trust) and start again.",
        f"   What passed is in the audit: {command} audit tail",
        "",
        "Ctrl-C stops.",
    ]


HELP_PROXY = """\
Stand between clients and a model's server, so that tool calls come out right. Clients change one base URL. It speaks
OpenAI's chat completions and Responses, Anthropic's messages and Ollama's chat, streaming and not; every other path
passes byte for byte. Keys of the upstream pass through and are never kept."""

EXAMPLES_PROXY = """\
examples:
  rightcall proxy --upstream http://localhost:11434
  rightcall proxy --upstream http://localhost:8080 --port 4242 --open --retry 1
  rightcall proxy --upstream https://api.anthropic.com --observe
"""


def arguments_proxy(parser: ArgumentParser) -> None:
    parser.add_argument("--upstream", metavar="URL", required=True, help="the model's server, with or without /v1")
    serving_options(parser)


def run_proxy(options: Namespace) -> int:
    return serve_upstream(
        options, options.upstream, lambda base, token, style: _describe_addresses(options, base, token, style)
    )


def _describe_addresses(options: Namespace, base: str, token: str | None, style: Style) -> list[str]:
    url = base_url(base, token)
    return [
        f"RightCall stands before the model's server{' and only watches' if options.observe else ''}. Base URLs:",
        f"  OpenAI and most clients  {style.tint(f'{url}/v1', 'bold')}",
        f"  Anthropic, Ollama        {style.tint(url, 'bold')}",
        "Everything else about your client stays as it is, its key too. Ctrl-C stops.",
    ]
