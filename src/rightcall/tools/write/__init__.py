"""Everything that is written: files and branches, in journaled steps that a crash cannot leave half done.

    preview, state ─▶ approval ─▶ Desk.working() ─▶ compare ─▶ journal ─▶ do it ─▶ done ─▶ (undo)

`changes` are the records, `desk` is where they are kept and done, `journal` how they come back after a crash, `undoing`
how they are taken back. The tools that write (`saving`, `editing`, …) only say what shall be where.
"""
