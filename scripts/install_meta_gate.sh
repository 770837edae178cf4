#!/bin/sh
# Layer: Meta-Reasoning Gate
# Installs parameter validation and auto-correction for tool calls into Agent Zero; changes none of its files.
#
#   scripts/install_meta_gate.sh [FOLDER]               FOLDER holds Agent Zero's agent.py (default /a0)
#   scripts/install_meta_gate.sh --uninstall [FOLDER]   takes it away again

set -eu

SCRIPT_DIR="$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)"
REPO_DIR="$(dirname "$SCRIPT_DIR")"

if [ "$#" -eq 0 ] || { [ "$#" -eq 1 ] && [ "$1" = "--uninstall" ]; }; then
    set -- "$@" "${AGENT_ZERO:-/a0}"
fi

# -P: what the current folder holds under our name is not ours
PYTHONPATH="$REPO_DIR/src" PYTHONDONTWRITEBYTECODE=1 \
    exec "${PYTHON:-python3}" -P -m rightcall.hosts.install.agent_zero "$@"
