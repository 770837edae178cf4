"""Programs nobody vouches for, in a sandbox: no network, no files but a scratch folder and what the system ships, and
limits on time, memory, processes, disk and output. Where the machine cannot isolate, nothing runs.

    Sandbox.run ─▶ fork server ─▶ supervisor ─▶ pid 1 ─▶ program
    (here)         (inside/, a process of its own)
"""
