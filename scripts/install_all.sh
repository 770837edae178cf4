#!/bin/sh
# Installs every layer into Agent Zero, with the same words after it as each installer takes.

set -eu

SCRIPT_DIR="$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)"

sh "$SCRIPT_DIR/install_meta_gate.sh" "$@"
