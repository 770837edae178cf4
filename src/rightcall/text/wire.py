"""Names of tools as model APIs take them: letters, digits, `_` and `-`. `code/read` goes out as `code_read`; a call
that comes back by that name is mapped like any other spelling of it."""

import re

_OTHER = re.compile(r"[^A-Za-z0-9_-]+")
LONGEST = 64


def wire_name(name: str) -> str:
    """
    >>> wire_name("code/execute/python"), wire_name("add")
    ('code_execute_python', 'add')
    """
    return _OTHER.sub("_", name)[:LONGEST]
