#!/bin/bash
# Layer: Meta-Reasoning Gate
# Installs parameter validation and auto-correction for tool calls into Agent Zero; changes none of its files.
#
#   scripts/install_meta_gate.sh [FOLDER]               FOLDER holds Agent Zero's agent.py (default /a0)
#   scripts/install_meta_gate.sh --uninstall [FOLDER]   takes it away again

set -euo pipefail

SCRIPT_DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
REPO_DIR="$(dirname "$SCRIPT_DIR")"

UNDO=()
if [ "${1:-}" = "--uninstall" ]; then
    UNDO=(--uninstall)
    shift
fi
if [ "$#" -eq 0 ]; then
    set -- "${AGENT_ZERO:-/a0}"
fi

# -P: what the current folder holds under our name is not ours
PYTHONPATH="$REPO_DIR/src" PYTHONDONTWRITEBYTECODE=1 \
    exec "${PYTHON:-python3}" -P -m rightcall.hosts.agent_zero_install ${UNDO[@]+"${UNDO[@]}"} "$@"
