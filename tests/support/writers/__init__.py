"""One writer per tool-call format: calls in, out comes what the model would have said.

Written from the formats' own chat templates and documentation, without a look at the readers they test.
"""

from support.writers.base import Call, Writer
from support.writers.json_calls import JSON_CALLS
from support.writers.python_calls import PYTHON_CALLS
from support.writers.tag_calls import TAG_CALLS
from support.writers.token_calls import TOKEN_CALLS

WRITERS: dict[str, Writer] = {writer.name: writer for writer in (*JSON_CALLS, *PYTHON_CALLS, *TAG_CALLS, *TOKEN_CALLS)}

__all__ = ["WRITERS", "Call", "Writer"]
