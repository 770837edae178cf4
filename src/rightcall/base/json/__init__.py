"""Reading what a model wrote: a strict reader first, then one lenient reader that is led by the schema."""
