"""`web/fetch` and `web/search`: pages and searches for models, off until the policy allows them.

url ─▶ target (spelled one way) ─▶ looked up once ─▶ each address judged ─▶ connection to that address
            ▲                                                                     │
            └──────────────────────────── redirect, judged anew ◀─────────────────┘
                                                          page ─▶ unpacked ─▶ decoded ─▶ readable text
"""
