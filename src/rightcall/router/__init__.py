"""The router (design 004): does this request need a tool, which one, and is it sure enough?

    request ─▶ intent ─▶ candidates ─▶ select ─▶ review ─▶ execute ─▶ inject ─▶ respond
              `intent`   `index`      light model  prime model  executor   packet    prime model

A packet carries the request through all of it. What needs no model (intent, candidates, confidence) is measured and
fast; what a model decides is read by the gate, weighed with that evidence, and runs only under the executor's policy.
"""
