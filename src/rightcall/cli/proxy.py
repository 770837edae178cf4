"""Stand between clients and a model's server, so that tool calls come out right. Clients change one base URL. It speaks
OpenAI's chat completions and Responses, Anthropic's messages and Ollama's chat, streaming and not; every other path
passes byte for byte. Keys of the upstream pass through and are never kept."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from rightcall.cli.serving import base_url, serve_upstream, serving_options
from rightcall.cli.terminal import Style

EXAMPLES = """\
examples:
  rightcall proxy --upstream http://localhost:11434
  rightcall proxy --upstream http://localhost:8080 --port 4242 --open --retry 1
  rightcall proxy --upstream https://api.anthropic.com --observe
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--upstream", metavar="URL", required=True, help="the model's server, with or without /v1")
    serving_options(parser)


def run(options: Namespace) -> int:
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
