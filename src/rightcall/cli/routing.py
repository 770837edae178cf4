"""What `route` and `ask` have in common: a router on this folder, and what it needs to run calls."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall.cli.store_options import database_of, open_store, policy_file, redactor_of
from rightcall.route.router import Router

if TYPE_CHECKING:
    from rightcall.config_router import RouterSettings
    from rightcall.executor import Executor
    from rightcall.record.tables import Store
    from rightcall.route.packets import PacketStore


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
    from rightcall.fs.guarded import packets_folder
    from rightcall.route.packets import PacketStore

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
