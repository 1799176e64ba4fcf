#!/bin/sh
# Installs what make test-console needs and the machine lacks: Node.js, npm and Chromium, of Debian.
set -eu
want=""
command -v node >/dev/null 2>&1 || want="$want nodejs"
command -v npm >/dev/null 2>&1 || want="$want npm"
command -v chromium >/dev/null 2>&1 || want="$want chromium"
[ -n "$want" ] || exit 0
run=""
[ "$(id -u)" = 0 ] || run="sudo"
echo "installing:$want"
export DEBIAN_FRONTEND=noninteractive
$run apt-get update -qq
# shellcheck disable=SC2086
$run apt-get install -y -qq --no-install-recommends $want >/dev/null
