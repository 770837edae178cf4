"""RightCall beside its peers, in one run on one core: ratios, because machines differ. Run by `make bench`."""
