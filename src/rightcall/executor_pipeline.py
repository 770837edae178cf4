"""The order in which every call goes, and nothing else: `Pipeline.run` is the whole of it.

    check ─▶ authorise, record ─▶ execute ─▶ record ─▶ present

Authorising and the first record are one transaction (`record/admission.py`): no record, no execution.
"""

import asyncio
import logging
from typing import Any

from msgspec import Struct

from rightcall.authorise import decide
from rightcall.authorise.quarantine import quarantine
from rightcall.config_settings import Rights
from rightcall.errors import StoreError
from rightcall.execute.cache import Cache
from rightcall.execute.functions import LocalTool
from rightcall.execute.preview import preview
from rightcall.execute.run import run
from rightcall.execute.state import state_of
from rightcall.executor_calls import OnStage, Stopwatch, Who, Written, call_body, end_body, question, unrecorded
from rightcall.executor_outcomes import equipped, objection, ran, refused
from rightcall.executor_request import build_request, canonical
from rightcall.executor_toolbox import Equipped, Toolbox
from rightcall.present.messages import content, error_content
from rightcall.record.admission import Admission, admit, finish, refuse
from rightcall.record.entries import EndBody
from rightcall.record.tables import Store, Tables
from rightcall.text.redact import Redactor
from rightcall.types import Call
from rightcall.types_running import Decision, Metadata, Outcome, Request, Result

log = logging.getLogger("rightcall")


class Pipeline(Struct, frozen=True, eq=False):
    """One call's way through one toolbox. Made anew for each call, so that a changed policy never mixes with the old."""

    toolbox: Toolbox
    store: Store
    cache: Cache
    redactor: Redactor
    root: str
    on_stage: OnStage | None = None

    async def run(self, written: Written, who: Who, approval: str | None = None) -> Outcome:
        """The whole way of one call."""
        watch = Stopwatch(self.on_stage)
        watch.stage("check")
        rights = self.toolbox.rights_of(who.caller)
        request, tool = self._request(written, rights, approval)
        watch.stage("authorise")
        admission = await self._admit(written, who, request, tool)
        if isinstance(request, Decision) or tool is None or admission.decision.kind in ("deny", "ask"):
            watch.stage("")
            return refused(written, admission, watch.taken)
        watch.stage("execute")
        result = await self._execute(request, tool, admission)
        watch.stage("present")
        text, tokens, summary = self._present(request, result)
        watch.stage("record")
        recorded = await self._complete(request, admission, end_body(result, summary, tokens, self.redactor))
        watch.stage("")
        metadata = Metadata(result.seconds * 1e3, tokens, result.cached, admission.call, recorded, watch.taken)
        call = Call(request.tool, request.arguments, *_identity(written))
        return ran(call, written.verdict, admission.decision, result, text, summary, metadata)
