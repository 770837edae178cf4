"""The read-only code tools: one file per tool, and what they share. Whatever they open, they open through a `Sight`
(`rightcall/fs`); what they start, they start through `process`. Nothing is loaded here."""
