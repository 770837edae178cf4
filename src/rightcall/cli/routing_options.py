"""The options of `route` and `ask`: the request, and the model that is asked."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rightcall.cli.lines import InputError, read_text
from rightcall.cli.store_options import policy_path
from rightcall.door_guarding import POLICY_FILE
from rightcall.errors import ConfigError
from rightcall.text.escape import escaped
from rightcall.text.tokens import estimate

if TYPE_CHECKING:
    from rightcall.config_router import RouterSettings
    from rightcall.models.endpoint import Endpoint

_EXAMPLE_URL = "http://127.0.0.1:8080/v1"


def model_options(parser: ArgumentParser) -> None:
    """--url, --model, --key-env."""
    group = parser.add_argument_group("the model, instead of [router.light] and [router.prime] of the policy")
    group.add_argument("--url", metavar="URL", help=f"an OpenAI-compatible endpoint, such as {_EXAMPLE_URL}")
    group.add_argument("--model", metavar="NAME", help="as the server calls it (default: the only one it has)")
    group.add_argument("--key-env", metavar="NAME", help="the environment variable that holds the server's key")


def tools_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--tools", action="append", default=[], metavar="FILE",
        help="choose from the tools of a .json, .jsonl or .toml file, or module:attribute (imports that module), "
        "instead of the code tools on this folder; only functions, as module:attribute gives them, can run; repeatable",
    )  # fmt: skip


def caller_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--as", "--caller", dest="caller", default="default", metavar="CALLER", help="on whose behalf (default)"
    )


def text_of(words: list[str]) -> str:
    """The request: the words of the command line, or standard input for `-`. Empty when there are none."""
    text = read_text("-") if words == ["-"] else " ".join(words)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError("the request is not UTF-8 text") from None
    return text


def refuse_too_long(text: str, settings: RouterSettings) -> None:
    """Said before anybody is asked: with so long a request no question to a model would fit."""
    tokens = estimate(text)
    if tokens >= settings.tokens:
        raise InputError(
            f"the request has about {tokens:,} tokens, but a whole request may take {settings.tokens:,}: "
            "shorten it, or raise `tokens` in [router] of the policy"
        )


def given_model(options: Namespace, settings: RouterSettings) -> Endpoint | None:
    """The endpoint of the command line; None where the policy says which, or where there is none."""
    if options.url is None:
        alone = next((name for name in ("model", "key_env") if getattr(options, name) is not None), None)
        if alone is not None:
            raise InputError(f"--{alone.replace('_', '-')} goes with --url, which says where the model is")
        return None
    from rightcall.models.endpoint import Endpoint

    key = os.environ.get(options.key_env, "").strip() if options.key_env else None
    if key == "":
        raise InputError(f"--key-env: there is no environment variable {escaped(options.key_env, 100)}, or it is empty")
    return Endpoint(options.url, options.model or "", key=key, seconds=settings.model_seconds)


def has_model(options: Namespace, settings: RouterSettings) -> bool:
    return options.url is not None or settings.light is not None or settings.prime is not None


def no_model(options: Namespace, command: str) -> ConfigError:
    return ConfigError(f"there is no model to ask. {how_to_configure(options, command)}")


def how_to_configure(options: Namespace, command: str) -> str:
    """Complete, so that it can be copied."""
    path = policy_path(options) or os.path.join(options.root, POLICY_FILE)
    return (
        f"Name one in {escaped(path)}:\n\n"
        "  [router.prime]\n"
        f'  url = "{_EXAMPLE_URL}"\n'
        '  model = "qwen3-4b"\n'
        '  #key_env = "MODEL_KEY"   # where the server wants a key: the variable that holds it\n\n'
        f"or on the command line: rightcall {command} … --url {_EXAMPLE_URL} --model qwen3-4b"
    )


def loaded_tools(options: Namespace) -> list[Any] | None:
    """What --tools names; None where it was not given."""
    if not options.tools:
        return None
    from rightcall.cli.toolfiles import load_tools

    return load_tools(options.tools)


def runnable_tools(options: Namespace) -> list[Any] | None:
    """The same for who wants to run them."""
    from rightcall.execute.functions import LocalTool

    tools = loaded_tools(options)
    for one in tools or ():
        if not isinstance(one, LocalTool) and (not callable(one) or isinstance(one, type)):
            raise InputError(
                "--tools: nobody here can run a tool of which only the definition is known. Give functions, as "
                "--tools MODULE:NAME, or leave --tools out for the code tools on this folder"
            )
    return tools
