"""`data/list`: records of the audit's own tables."""

from typing import Any

from rightcall.present.fields import Fields, number, own, records, text, with_truncated
from rightcall.present.view import View, left_out


def shape(result: Any) -> dict[str, Any]:
    """Without the columns in which a record has nothing."""
    result = own(result)
    shown = [{column: value for column, value in record.items() if not _is_empty(value)} for record in _rows(result)]
    return with_truncated({"summary": _counted(result), "records": shown}, result)


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], (), {})


def _rows(result: Fields) -> Any:
    return records(result, "records")


def _counted(result: Fields) -> str:
    return f"{len(_rows(result))} of {number(result, 'total')} records of {text(result, 'collection')}"


def summary(result: Any) -> str:
    return f"Listed {_counted(own(result))}"


VIEW = View("data/list", shape, summary, left_out("records", "records left out: use a filter or a smaller limit"))
