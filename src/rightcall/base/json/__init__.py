"""Reading JSON as models write it: a strict reader first, then one lenient reader that is led by the schema.

    text ─▶ strict ─▶ find (amid prose) ─▶ reader, with values and strings ─▶ value, repairs

`shape` is what the reader knows of a schema, `marks` the rules it may use, and how sure each is.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.base.json.find import read_lenient, read_value
    from rightcall.base.json.marks import RULES, Rule, is_list, is_object, json_type, repairs_of
    from rightcall.base.json.reader import Reader
    from rightcall.base.json.shape import ANY, Shape, shape_of
    from rightcall.base.json.strict import attempt, decode, duplicate_keys
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "find": "read_lenient read_value",
            "marks": "RULES Rule is_list is_object json_type repairs_of",
            "reader": "Reader",
            "shape": "ANY Shape shape_of",
            "strict": "attempt decode duplicate_keys",
        },
    )

__all__ = [
    "ANY", "RULES", "Reader", "Rule", "Shape", "attempt", "decode", "duplicate_keys", "is_list", "is_object",
    "json_type", "read_lenient", "read_value", "repairs_of", "shape_of",
]  # fmt: skip
