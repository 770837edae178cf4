"""The options that several commands share, and the gate they describe."""

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rightcall.gate import Gate


def gate_options(parser: ArgumentParser, *, tools: bool = True) -> None:
    """--tools, --pack, --policy, --provider."""
    group = parser.add_argument_group("what the gate knows")
    if tools:
        group.add_argument(
            "--tools",
            action="append",
            default=[],
            metavar="FILE",
            help="tools from a .json, .jsonl or .toml file, or module:attribute (imports that module); repeatable",
        )
    group.add_argument(
        "--pack",
        action="append",
        default=[],
        metavar="NAME",
        help="a rule pack, by name or path (`rightcall packs`); repeatable",
    )
    group.add_argument("--policy", metavar="FILE", help="a policy file (TOML)")
    group.add_argument(
        "--provider", metavar="NAME", help="who serves the model (ollama, anthropic, …): its repair settings apply"
    )


def stats_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--stats", action="store_true", help="print the statistics to standard error at the end, as JSON"
    )


def json_option(parser: ArgumentParser, what: str) -> None:
    parser.add_argument("--json", action="store_true", help=f"print {what} as one JSON object")


def build_gate(options: Namespace) -> "Gate":
    """The gate that the options describe; raises ConfigError naming the file that is wrong."""
    from rightcall.gate import Gate

    sources: list[str] = getattr(options, "tools", [])
    if sources:
        from rightcall.cli.toolfiles import load_tools

        tools = load_tools(sources)
    else:
        tools = None
    return Gate(tools, policy=options.policy, packs=tuple(options.pack), **gate_settings(options))


def gate_settings(options: Namespace) -> dict[str, Any]:
    """What the options say of who wrote the text; a command that reads none has only the provider."""
    return {key: getattr(options, key, None) for key in ("provider", "reasoning", "model")}
