#!/bin/bash
# Installs every layer into Agent Zero, with the same words after it as each installer takes.

set -euo pipefail

SCRIPT_DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

bash "$SCRIPT_DIR/install_meta_gate.sh" "$@"
