"""Any OpenAI-compatible endpoint as a model: llama.cpp, Ollama, LM Studio, vLLM, OpenAI, and whoever speaks like them.

    model = Endpoint("http://localhost:11434", "qwen3:4b")
    answer = await model([{"role": "user", "content": "Hello"}], temperature=0.2)

It needs nothing but the standard library. A server that is down, slow, or talks nonsense is a `ModelError` with one
sentence that says so, within `seconds`; no answer is trusted, a schema given with the question is only a wish.
"""

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from rightcall.base.http.client import Incoming, Request, exchange
from rightcall.base.http.errors import HttpError
from rightcall.errors import ConfigError
from rightcall.models.endpoint_answers import Pieces, names_in, read_refusal, whole
from rightcall.models.endpoint_errors import MOST_BODY, Whom, secrets_of
from rightcall.models.endpoint_manner import PLAIN, EndpointQuestion, Manner
from rightcall.models.endpoint_request import CHAT, address_of, encoded, headers_of, options_of
from rightcall.models.endpoint_waiting import advice_to_wait, seconds_to_wait
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.config_router import ModelSettings

_MOST_SHOWN = 5


class Endpoint:
    """A model behind an OpenAI-compatible endpoint; `await` it with messages. Usable from any event loop and by many
    questions at once, since nothing is kept open between them.

    `url` may end in /v1 or /chat/completions; without any path, /v1 is meant. An empty `model` means the only one that
    the server has. `key` goes out as `Authorization: Bearer …`; neither it nor a header stands in an error or a repr.
    `seconds` is for a question as a whole. Without `schema` the server is never asked to keep to one.
    """

    def __init__(
        self,
        url: str,
        model: str = "",
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float = 30.0,
        schema: bool = True,
    ) -> None:
        self._address = address_of(url)
        if not seconds > 0:
            raise ConfigError(f"`seconds` must be more than 0, not {seconds!r}")
        self.model = model
        self.seconds = seconds
        self._headers = headers_of(key, headers or {})
        self._secrets = secrets_of(key, headers or {})
        self._manner = Manner() if schema else PLAIN
        self._found = ""
        self._trust: ssl.SSLContext | None = None

    @classmethod
    def of(cls, settings: "ModelSettings", *, seconds: float = 30.0) -> Self:
        """As the policy file says it: [router.light] or [router.prime]."""
        key = os.environ.get(settings.key_env) if settings.key_env else None
        if settings.key_env and not key:
            raise ConfigError(
                f"key_env: the environment variable {settings.key_env} is not set; put the key for "
                f"{address_of(settings.url).authority} there, or leave key_env out"
            )
        return cls(
            settings.url,
            settings.model,
            key=key,
            headers=settings.headers,
            seconds=seconds,
            schema=settings.schema,
        )

    def __repr__(self) -> str:
        return f"Endpoint({self._address.authority!r}, {self.model!r})"

    async def __call__(
        self,
        messages: list[dict[str, Any]],
        *,
        schema: dict[str, Any] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        top_p: float | None = None,
    ) -> dict[str, Any]:
        """The server's whole answer, as OpenAI's API gives it. Raises ModelError."""
        question = EndpointQuestion(messages, options_of(temperature, max_tokens, top_p), schema)
        deadline = self._deadline()
        async with self._until(deadline), self._asked(question, deadline) as (whom, response):
            return whole(whom, await response.read_all())

    async def stream(
        self,
        messages: list[dict[str, Any]],
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
        top_p: float | None = None,
    ) -> AsyncGenerator[str]:
        """The pieces of the answer as they come. Raises ModelError, also in the middle. Who stops before the end should
        `aclose` it, as with any such generator; then the connection is closed at once."""
        question = EndpointQuestion(messages, options_of(temperature, max_tokens, top_p), stream=True)
        deadline = self._deadline()
        async with AsyncExitStack() as stack:
            async with self._until(deadline):  # never around a `yield`: it would stop whoever is asking
                whom, response = await stack.enter_async_context(self._asked(question, deadline))
            pieces = Pieces(whom)
            while not pieces.is_over:
                async with self._until(deadline):
                    data = await response.read()
                for text in pieces.feed(data) if data else ():
                    yield text
                if not data:
                    break
            for text in pieces.end():
                yield text

    async def models(self) -> tuple[str, ...]:
        """The names of the models that the server lists; none where it lists none. Raises ModelError."""
        async with self._until(self._deadline()):
            return await self._listed()

    async def aclose(self) -> None:
        """For whoever closes all its models: here nothing is open."""

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + self.seconds

    def _whom(self) -> Whom:
        return Whom(self._address, self.model or self._found, self._secrets)

    @asynccontextmanager
    async def _until(self, deadline: float) -> AsyncGenerator[None]:
        limit = asyncio.timeout_at(deadline)
        try:
            async with limit:
                yield
        except TimeoutError:
            if limit.expired():
                raise self._whom().late(self.seconds) from None
            raise

    @asynccontextmanager
    async def _asked(self, question: EndpointQuestion, deadline: float) -> AsyncGenerator[tuple[Whom, Incoming]]:
        """An answer with the status 200, in whatever manner the server takes the question."""
        model = self.model or await self._only_model()
        whom, manner, may_wait = self._whom(), self._manner, True
        while True:
            body = encoded(manner.body(model, question))
            async with self._sent(whom, "POST", CHAT, body) as response:
                if response.status == 200:
                    self._manner = manner
                    yield whom, response
                    return
                answer = read_refusal(await response.read_all())
            other = manner.other(question, response.status, answer)
            if other is not None:
                manner = other
                continue
            pause = seconds_to_wait(response)
            left = deadline - asyncio.get_running_loop().time()
            if pause is None or pause >= left or not may_wait:
                self._found = "" if response.status == 404 else self._found  # another model may be loaded by now
                raise whom.refused(response.status, answer, advice_to_wait(whom, response, pause, left))
            may_wait = False
            await asyncio.sleep(pause)

    async def _only_model(self) -> str:
        """The model's name where nobody gave one. Servers that list none may have a default."""
        if not self._found:
            names = await self._listed()
            talking = [name for name in names if "embed" not in name.lower()]  # which LM Studio lists beside the others
            if len(talking) > 1:
                shown = ", ".join(escaped(name, 80) for name in talking[:_MOST_SHOWN])
                more = f" and {len(talking) - _MOST_SHOWN} more" if len(talking) > _MOST_SHOWN else ""
                raise self._whom().error(f"the server has several; say which with `model`: {shown}{more}", "status")
            self._found = talking[0] if talking else ""
        return self._found

    async def _listed(self) -> tuple[str, ...]:
        whom = self._whom()
        async with self._sent(whom, "GET", "/models") as response:
            raw = await response.read_all()
        if response.status in (401, 403):
            raise whom.refused(response.status, read_refusal(raw))
        return (names_in(raw) or ()) if response.status == 200 else ()

    @asynccontextmanager
    async def _sent(self, whom: Whom, method: str, path: str, body: bytes = b"") -> AsyncGenerator[Incoming]:
        if self._address.secure and self._trust is None:
            self._trust = ssl.create_default_context()
        request = Request(method, self._address.path + path, self._headers, body, MOST_BODY)
        try:
            async with exchange(self._address, request, self._trust) as response:
                yield response
        except HttpError as error:
            raise whom.failed(error.fault) from None
