#!/bin/sh
# usage: check_tree.sh CMAKE BUILD_FOLDER
set -eu
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
"$1" --install "$2" --prefix "$prefix/here" >/dev/null
"$(dirname "$0")/check_install.sh" "$prefix/here"
