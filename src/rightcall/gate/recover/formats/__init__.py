"""The formats by family: those that read like prose, and those with tags or tokens. `registry` lists the families."""
