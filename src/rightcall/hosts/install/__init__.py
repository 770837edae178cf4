"""Putting RightCall into the settings of hosts, and taking it out again.

    settings file ─▶ plan (text in, text out) ─▶ shown as a difference ─▶ backup, manifest, one atomic write

Every edit is an insertion, a removal or a replacement of a few characters in the text that is there: comments, order,
indentation and line ends of the rest keep their bytes. What cannot be edited so is refused with the lines to add by
hand. Nothing is written that was not read back first and found to mean what it should.
"""
