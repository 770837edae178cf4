"""One file for each tool whose results have a form of their own."""
