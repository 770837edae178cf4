"""Git for the tools that look at a history: it runs in a private git directory with a configuration of our own, so that
nothing a repository says about itself is ever run or read."""
