"""An exit with a message."""

raise SystemExit("this went wrong")
# exit 1
# stderr this went wrong
