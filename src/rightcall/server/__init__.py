"""Everything with a socket: `rightcall serve` and `rightcall proxy`. Needs the extra `serve`."""
