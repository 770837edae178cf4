"""Tools for a local model that only writes text: its calls are read from its answer, whatever format they are in.

python examples/text_only_model.py
"""

from collections.abc import Callable

from rightcall import Gate

Model = Callable[[list[dict[str, str]]], str]


def get_weather(city: str, days: int = 1) -> str:
    """The weather of the coming days."""
    return f"{days} days of sun in {city}"


TOOLS = {"get_weather": get_weather}


def ask(model: Model, question: str, rounds: int = 5) -> str:
    """Run what may run, tell the model what was wrong with the rest, until it answers without a call."""
    gate = Gate(TOOLS.values())
    messages = [{"role": "user", "content": question}]
    for _ in range(rounds):
        written = model(messages)
        reading = gate.read(written)
        if not reading.calls:
            return reading.text
        messages.append({"role": "assistant", "content": written})
        for verdict in reading.calls:
            call = verdict.call
            runs = verdict.ok and call and not verdict.truncated
            refused = verdict.message("text") or "the call was cut off; send it again"
            result = TOOLS[call.name](**call.arguments) if runs else refused
            messages.append({"role": "user", "content": f"Result: {result}"})
    return "(no answer)"


# In place of `canned`, any function from messages to text. With a server that speaks OpenAI's dialect:
#
#     client = openai.OpenAI(base_url="http://localhost:8080/v1", api_key="none")
#
#     def model(messages):
#         return client.chat.completions.create(model="local", messages=messages).choices[0].message.content
#
# and tell the model in a system message which tools it has. (`gate.read` takes the server's whole answer as well, with
# the calls that the server found itself; docs/reference/formats.md shows it.)


def canned(messages: list[dict[str, str]]) -> str:
    """Plays a small model: it forgets an argument, corrects itself in another format, and then answers."""
    answers = [
        'Let me look. <tool_call>{"name": "get_weather", "arguments": {"days": 3}}</tool_call>',
        'Sorry. [getWeather(place="Oslo", days="three")]',
        "It will be sunny in Oslo for three days.",
    ]
    print(f"to the model:   {messages[-1]['content']}")
    written = answers[len(messages) // 2]
    print(f"from the model: {written}")
    return written


def main() -> None:
    print("answer:        ", ask(canned, "Will it rain in Oslo?"))


if __name__ == "__main__":
    main()
