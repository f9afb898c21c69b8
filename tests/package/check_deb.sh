#!/bin/sh
# The Debian package says what it needs, and works where it is unpacked.
# usage: check_deb.sh CPACK BUILD_FOLDER
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v dpkg-shlibdeps >/dev/null || { echo "SKIP: no dpkg-shlibdeps here"; exit 77; }
"$1" -G DEB --config "$2/CPackConfig.cmake" -B "$work" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
deb=$(ls "$work"/gpuwitness_*.deb)
depends=$(dpkg-deb -f "$deb" Depends)
for package in lttng-tools liblttng-ust1 liblttng-ctl0 libbabeltrace2-0 libcairo2 libpango libc6 libarchive13 libsqlite3-0; do
  case $depends in *"$package"*) ;; *) echo "FAULT: does not depend on $package: $depends"; exit 1 ;; esac
done
case $depends in *cuda* | *nvidia* | *mpi*) echo "FAULT: depends on a driver or on MPI: $depends"; exit 1 ;; esac
dpkg-deb -x "$deb" "$work/root"
"$(dirname "$0")/check_install.sh" "$work/root/usr"
