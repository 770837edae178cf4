"""Check calls without running anything: the verdict says what was repaired, or why the call is refused.

python examples/check_a_call.py
"""

import json
from pathlib import Path

from rightcall import Gate


def main() -> None:
    tools = json.loads(Path(__file__).with_name("tools.json").read_text(encoding="utf-8"))
    gate = Gate(tools)

    verdict = gate.check("getWeather", "{city: 'Oslo', days: '3', unit: '°C'}")
    assert verdict.ok
    assert verdict.call is not None
    print("run", verdict.call.name, verdict.call.arguments)
    for repair in verdict.repairs:
        print("  repaired", repair.path or "the call", "by", repair.rule)

    verdict = gate.check("get_weather", {"days": 3})
    assert not verdict.ok
    print("tell the model:", verdict.message("openai")["content"])


if __name__ == "__main__":
    main()
