"""What `route` and `ask` have in common: a router on this folder, and what it needs to run calls."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.files.guarded import POLICY_FILE
from rightcall.base.text import escaped, estimate
from rightcall.cli.lines import InputError, read_text
from rightcall.cli.packet import models, places, resume_command
from rightcall.cli.stores import database_of, open_store, policy_file, policy_path, redactor_of
from rightcall.errors import ConfigError
from rightcall.router.router import Router

if TYPE_CHECKING:
    from rightcall.executor.executor import Executor
    from rightcall.models.endpoint import Endpoint
    from rightcall.policy.settings import RouterSettings
    from rightcall.record.tables import Store
    from rightcall.router.packets import PacketStore
    from rightcall.router.types import Packet


class RouterAsGiven(Router):
    """A router whose settings are the policy's, but for what the command line says otherwise. It may take in fewer
    results than the policy allows, never more."""

    def __init__(self, tools: Any = None, models: Any = None, *, instead: dict[str, Any], **options: Any) -> None:
        self._instead = instead
        super().__init__(tools, models, **options)

    @property
    def settings(self) -> RouterSettings:
        own = super().settings
        fewer = min(own.reinjections, self._instead.get("reinjections", own.reinjections))
        return replace(own, **(self._instead | {"reinjections": fewer}))


class Desk(Struct, frozen=True):
    """What a router needs to run calls here, and to keep its packets."""

    store: Store
    executor: Executor
    packets: PacketStore


@contextmanager
def open_desk(options: Namespace, functions: list[Any] | None = None) -> Generator[Desk]:
    """The store, the executor with the code tools, or with these functions instead, and the packets."""
    from rightcall.base.files.guarded import packets_folder
    from rightcall.router.packets import PacketStore

    with closing(open_store(options, create=True)) as store:
        executor = folder_executor(options, functions, store)
        executor.start()
        with closing(executor):
            packets = PacketStore(packets_folder(database_of(options)), redactor_of(options, store))
            yield Desk(store, executor, packets)


def folder_executor(
    options: Namespace, functions: list[Any] | None = None, store: Store | Literal["memory"] | None = None
) -> Executor:
    """Not open yet, which is enough to see the tools that run here."""
    from rightcall.executor.executor import Executor

    own = functions is not None
    return Executor.open(
        options.root, policy_file(options), tools=functions or (), store=store, code=not own, servers=not own
    )


@contextmanager
def listed_executor(options: Namespace) -> Generator[Executor]:
    """The executor on this folder, to see all its tools and to run none: servers start only where there are any."""
    executor = folder_executor(options, store="memory")
    if executor.has_servers:
        executor.start()
    with closing(executor):
        yield executor


# ── options ──
# The options of `route` and `ask`: the request, and the model that is asked.

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
    from rightcall.cli.options import load_tools

    return load_tools(options.tools)


def runnable_tools(options: Namespace) -> list[Any] | None:
    """The same for who wants to run them."""
    from rightcall.tools.functions import LocalTool

    tools = loaded_tools(options)
    for one in tools or ():
        if not isinstance(one, LocalTool) and (not callable(one) or isinstance(one, type)):
            raise InputError(
                "--tools: nobody here can run a tool of which only the definition is known. Give functions, as "
                "--tools MODULE:NAME, or leave --tools out for the code tools on this folder"
            )
    return tools


# ── interrupted ──
# Ctrl-C in the middle of a request: where it stands is saved, and how it goes on is told.


def tell_interrupted(packet: Packet, packets: PacketStore, options: Namespace) -> None:
    if packet.header.packet_id in packets.ids():
        command = resume_command(packet, models(options) + places(options))
        sys.stderr.write(f"\nrightcall: interrupted; the request is saved as it stood, and goes on with: {command}\n")
    else:
        sys.stderr.write("\nrightcall: interrupted, before anything of the request was saved\n")
