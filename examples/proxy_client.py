"""Asks a model for a tool call, over HTTP and nothing else, and shows what came: the call, and what RightCall did.

rightcall serve --no-auth                                      # in one terminal: the server with its practice model
python3 examples/proxy_client.py http://127.0.0.1:4141      # in another; in front of a model of yours, add its name
"""

import json
import sys
from http.client import HTTPConnection
from urllib.parse import urlsplit

WEATHER = {
    "name": "weather",
    "description": "The weather of the coming days.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city", "days"],
    },
}


def ask(base_url: str, model: str, question: str) -> tuple[dict, str]:
    """The model's message, and the header that says what was done to it."""
    body = {
        "model": model,
        "messages": [{"role": "user", "content": question}],
        "tools": [{"type": "function", "function": WEATHER}],
    }
    address = urlsplit(base_url)
    path = f"{address.path.rstrip('/').removesuffix('/v1')}/v1/chat/completions"
    connection = HTTPConnection(address.netloc)
    try:
        connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
    except OSError as error:
        sys.exit(f"nobody answers at {base_url}: {error.strerror}. Is the server running, and is this its address?")
    answer = connection.getresponse()
    given = answer.read()
    connection.close()
    if answer.status != 200:
        sys.exit(f"{answer.status}: {given.decode()}")
    return json.loads(given)["choices"][0]["message"], answer.headers.get(
        "x-rightcall", "nothing: all was right as it came"
    )


def main() -> None:
    if not 2 <= len(sys.argv) <= 3 or not sys.argv[1].startswith("http://"):
        print(f"usage: proxy_client.py http://HOST:PORT[/TOKEN] [MODEL]\n\n{__doc__.strip()}", file=sys.stderr)
        sys.exit(2)
    base_url, model, *_ = [*sys.argv[1:], "rightcall-practice"]
    message, done = ask(base_url, model, "What will the weather be in Bern, for 3 days?")
    print("text           ", message["content"])
    for call in message.get("tool_calls") or []:
        print("call           ", call["function"]["name"], json.loads(call["function"]["arguments"]))
    print("RightCall did  ", done)


if __name__ == "__main__":
    main()
