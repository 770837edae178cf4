"""What can be raised. A refused call is a `Verdict`, never an exception: these are for broken things.

RightCallError
├── Unreadable          no reading of a text is likely (`rightcall.loads`)
├── ModelError          a model's server gave no answer that can be used; nothing was run because of it
├── StoreError          the store cannot be used now: nothing runs until it can
├── CallError           `Executor.run` was given something that is not one call
├── ToolFailure         a tool says why it cannot do what was asked; its text is for the model
├── IdentityError       a login, a token or a document about either cannot be used
├── PacketError         a saved packet cannot be read, found or written
├── AnswerError         an approval cannot be answered so: expired, used, another call, one's own
└── ConfigError         something a person wrote is wrong: the message says where and what would be right
    ├── PolicyError     the policy file
    ├── PackError       a rule pack
    └── ToolError       a tool definition
"""

from typing import Literal


class RightCallError(Exception):
    """The root of everything this package raises on purpose."""


class Unreadable(RightCallError, ValueError):
    """No likely reading. `position` is the offset in the text where reading stopped."""

    def __init__(self, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.position = position


StoreFault = Literal[
    "locked", "full", "read-only", "corrupt", "version", "replaced", "closed", "unreachable", "denied", "fenced",
    "doubt", "failed",
]  # fmt: skip


class StoreError(RightCallError):
    """The store of audit, limits and approvals cannot be read or written. `fault` says why in one word; `told` is what
    callers and models read, where the message names a server that is none of their business."""

    def __init__(self, message: str, fault: StoreFault = "failed", told: str = "") -> None:
        super().__init__(message)
        self.fault: StoreFault = fault
        self.told = told or message

    @property
    def reason(self) -> str:
        """The message where nothing was about to run, or something did: without the sentence that nothing was run."""
        return str(self).replace(" Nothing was run.", "")


ModelFault = Literal["unreachable", "tls", "timeout", "status", "unreadable", "empty", "too large"]


class ModelError(RightCallError):
    """A model gave no answer that can be used. `fault` says why in one word, `status` what its server answered with."""

    def __init__(self, message: str, fault: ModelFault = "unreadable", *, status: int = 0) -> None:
        super().__init__(message)
        self.fault: ModelFault = fault
        self.status = status


class CallError(RightCallError, ValueError):
    """What was given to run is not one call, or nobody can be named as its caller."""


class ToolFailure(RightCallError):
    """A tool cannot do what was asked, and says so in words that the model may read as they are."""

    plain: bool = True
    """False: the words are somebody else's, and are marked as data."""


class IdentityError(RightCallError):
    """Nobody can be logged in or known by this: the message says why, and never holds a secret or what a server wrote
    about one."""


class PacketError(RightCallError, ValueError):
    """A packet cannot be saved, or what was saved is none; the message names the file and the reason."""


class AnswerError(RightCallError, ValueError):
    """An answer to an approval that cannot be taken; the message says why and what would be right."""


class ConfigError(RightCallError, ValueError):
    """A setting is wrong. `source` is the file (or a word for it), `line` its line, 0 when unknown."""

    def __init__(self, message: str, *, source: str = "", line: int = 0) -> None:
        # a folder that somebody else made may be called anything
        named = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in source)
        where = f"{named}:{line}: " if source and line else f"{named}: " if source else ""
        super().__init__(where + message)
        self.source = source
        self.line = line


class PolicyError(ConfigError):
    """The policy file, or a dict of its shape, is wrong."""


class PackError(ConfigError):
    """A rule pack is wrong, or there is none of that name."""


class ToolError(ConfigError):
    """A tool definition cannot be used."""
