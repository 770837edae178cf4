"""What `route` and `ask` have in common: the request, the models that are asked, and a router on this folder."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall.cli.lines import InputError, read_text
from rightcall.cli.store_options import database_of, open_store, policy_file, redactor_of
from rightcall.door_guarding import POLICY_FILE
from rightcall.errors import ConfigError
from rightcall.route.router import Router
from rightcall.text.escape import escaped
from rightcall.text.tokens import estimate

if TYPE_CHECKING:
    from rightcall.config_router import RouterSettings
    from rightcall.executor import Executor
    from rightcall.models.endpoint import Endpoint
    from rightcall.record.tables import Store
    from rightcall.route.packets import PacketStore

_EXAMPLE_URL = "http://127.0.0.1:8080/v1"


class RouterAsGiven(Router):
    """A router whose settings are the policy's, but for what the command line says otherwise."""

    def __init__(self, tools: Any = None, models: Any = None, *, instead: dict[str, Any], **options: Any) -> None:
        self._instead = instead
        super().__init__(tools, models, **options)

    @property
    def settings(self) -> RouterSettings:
        return replace(super().settings, **self._instead)


class Desk(Struct, frozen=True):
    """What a router needs to run calls here, and to keep its packets."""

    store: Store
    executor: Executor
    packets: PacketStore


def model_options(parser: ArgumentParser) -> None:
    """--url, --model, --key-env."""
    group = parser.add_argument_group("the model, instead of [router.light] and [router.prime] of the policy")
    group.add_argument("--url", metavar="URL", help=f"an OpenAI-compatible endpoint, such as {_EXAMPLE_URL}")
    group.add_argument("--model", metavar="NAME", help="as the server calls it (default: the only one it has)")
    group.add_argument("--key-env", metavar="NAME", help="the environment variable that holds the server's key")


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
    path = policy_file(options) or os.path.join(options.root, POLICY_FILE)
    return (
        f"Name one in {escaped(path)}:\n\n"
        "  [router.prime]\n"
        f'  url = "{_EXAMPLE_URL}"\n'
        '  model = "qwen3-4b"\n'
        '  key_env = "MODEL_KEY"   # only where the server wants a key: the variable that holds it\n\n'
        f"or on the command line: rightcall {command} … --url {_EXAMPLE_URL} --model qwen3-4b"
    )


@contextmanager
def open_desk(options: Namespace, functions: list[Any] | None = None) -> Generator[Desk]:
    """The store, the executor with the code tools, or with these functions instead, and the packets."""
    from rightcall.executor_opening import packets_folder
    from rightcall.route.packets import PacketStore

    executor = folder_executor(options, functions)  # first: a wrong folder or policy leaves no store behind
    with closing(open_store(options, create=True)) as store:
        executor = folder_executor(options, functions, store)
        executor.start()
        with closing(executor):
            packets = PacketStore(packets_folder(database_of(options)), redactor_of(options, store))
            yield Desk(store, executor, packets)


def folder_executor(options: Namespace, functions: list[Any] | None = None, store: Store | None = None) -> Executor:
    """Not open yet, which is enough to see its tools."""
    from rightcall.executor import Executor

    own = functions is not None
    return Executor.open(options.root, policy_file(options), tools=functions or (), store=store, code=not own)
