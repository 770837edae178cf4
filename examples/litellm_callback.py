"""LiteLLM with calls put right: as a callback of its proxy, and around `litellm.completion` in a program.

in a checkout: pip install '.[litellm]'
python examples/litellm_callback.py

The proxy's config.yaml, beside this file:

    litellm_settings:
      callbacks: litellm_callback.guard
"""

from rightcall.hosts.litellm import RightCall  # first: without the framework it says what to install

# isort: split
import litellm

guard = RightCall({"policy": {"deny": ["delete_note"]}})  # or the path of a policy file

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {
                "type": "object",
                "properties": {argument: {"type": "string"} for argument in arguments},
                "required": list(arguments),
            },
        },
    }
    for name, arguments in (("write_note", ("note_title", "text")), ("delete_note", ("note_title",)))
]
CALLS = (
    ("writeNote", "{'noteTitle': 'shopping', 'text': 'milk',}"),
    ("delete_note", '{"note_title": "shopping"}'),
)


def main() -> None:
    completion = guard.wrap(litellm.completion)
    for name, arguments in CALLS:
        wrote = [{"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}]
        answer = completion(  # the mock stands for a model that writes its calls like that
            model="ollama/small",
            messages=[{"role": "user", "content": "Note that I need milk."}],
            tools=TOOLS,
            mock_response="",
            mock_tool_calls=wrote,
        )
        message = answer.choices[0].message
        for call in message.tool_calls or []:
            print("call:", call.function.name, call.function.arguments)
        if message.content:
            print("text:", message.content)
    guard.close()


if __name__ == "__main__":
    main()
