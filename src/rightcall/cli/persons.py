"""Who answers on this machine, whether somebody sits at a terminal, and what they type."""

import os
import sys
from argparse import ArgumentParser, Namespace
from typing import TextIO


def person_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--by", metavar="NAME", help="who you are, for the record (default: your user name on this machine)"
    )


def who(options: Namespace) -> str:
    return login_name() if options.by is None else options.by


def login_name() -> str:
    """The name of the user that this process belongs to. Not from the environment, which anybody can set."""
    try:
        import pwd
    except ImportError:  # Windows
        try:
            return os.getlogin()
        except OSError:
            return ""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:  # as in a container: a user without a name
        return f"uid {number}"


def at_a_terminal() -> bool:
    """Whether somebody can read what is printed and type an answer."""
    stream: TextIO | None = sys.stdin  # None when it was closed
    return stream is not None and stream.isatty() and sys.stdout.isatty()


def _forget_typed() -> None:
    try:
        import termios
    except ImportError:  # Windows
        return
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def typed_text(prompt: str) -> str:
    """What somebody types at a prompt; what was typed before it was shown does not count. Empty at the end of input."""
    sys.stdout.flush()
    _forget_typed()
    sys.stdout.write(prompt)
    sys.stdout.flush()
    return sys.stdin.readline().strip()


def typed(prompt: str) -> str:
    """The same for a word that is one of a few: in small letters."""
    return typed_text(prompt).lower()
