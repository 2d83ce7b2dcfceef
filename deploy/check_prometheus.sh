#!/usr/bin/env bash
# Checks what is Prometheus's in deploy/: its configuration, the alert rules and their tests, and all of it on a worker that runs.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=.deploy
python=.venv/bin/python
mkdir -p "$tools"

from_debian() { # unpacked, not installed, so that no Prometheus starts on this machine
    promtool="$(command -v promtool || true)"
    prometheus="$(command -v prometheus || true)"
    [ -n "$promtool" ] && [ -n "$prometheus" ] && return
    promtool="$tools/prometheus/usr/bin/promtool"
    prometheus="$tools/prometheus/usr/bin/prometheus"
    [ -x "$promtool" ] && [ -x "$prometheus" ] && return
    fetch 2>/dev/null || { refresh_lists && fetch; }
    dpkg-deb -x "$tools"/prometheus_*.deb "$tools/prometheus"
}

fetch() {
    (cd "$tools" && rm -f prometheus_*.deb && apt-get download -qq -o APT::Sandbox::User=root prometheus)
}

refresh_lists() {
    if [ "$(id -u)" != 0 ]; then
        echo "promtool is missing: install Debian's package prometheus, or run this once as root" >&2
        exit 1
    fi
    apt-get update -qq
}

step() { printf '== %s\n' "$*"; }

from_debian

step "promtool check config, check rules, test rules"
"$promtool" check config deploy/prometheus/prometheus.yml
"$promtool" check rules deploy/prometheus/rules/*.yml
"$promtool" test rules deploy/prometheus/tests/*.yml

step "promtool check metrics, and a real Prometheus with every query and rule, on a worker that runs"
PYTHONPATH=deploy $python -m scrape_check --prometheus "$prometheus" --promtool "$promtool"
