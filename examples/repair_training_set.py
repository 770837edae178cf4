"""Repair a training set of tool calls: each output in one form, what cannot be repaired set aside with its reason.

rightcall read --jsonl examples/training.jsonl --field output --tools examples/tools.json --out readings.jsonl
python examples/repair_training_set.py examples/training.jsonl readings.jsonl
"""

import json
import sys
from typing import Any


def repaired(reading: dict[str, Any]) -> str | None:
    """The output as it should have been written; None where a call in it is refused, or could not be read."""
    if "error" in reading or reading["unread"] or not all(call["ok"] for call in reading["calls"]):
        return None
    calls = [f"<tool_call>\n{json.dumps(call['call'], ensure_ascii=False)}\n</tool_call>" for call in reading["calls"]]
    return "\n".join(filter(None, [reading["text"].strip(), *calls]))


def main(training: str, readings: str) -> None:
    with open(training, encoding="utf-8") as lines, open(readings, encoding="utf-8") as read:
        for line, answered in zip((line for line in lines if line.strip()), read, strict=True):
            reading = json.loads(answered)
            output = repaired(reading)
            if output is None:
                calls = [*reading.get("calls", []), *reading.get("unread", [])]
                why = reading.get("error") or next(call["hint"] for call in calls if not call["ok"])
                print(f"left out, line {reading.get('line') or reading['id']}: {why}", file=sys.stderr)
            else:
                print(json.dumps({**json.loads(line), "output": output}, ensure_ascii=False))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print("usage: repair_training_set.py TRAINING READINGS", file=sys.stderr)
        sys.exit(2)
    main(*sys.argv[1:])
