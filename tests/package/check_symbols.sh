#!/bin/sh
# What enters processes that were started elsewhere, in a container with an older system, must load there: the preloaded
# library asks for no symbol that glibc 2.17 has not.
# usage: check_symbols.sh OBJDUMP LIBRARY
set -eu
newest=$("$1" -T "$2" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)
[ -n "$newest" ] || { echo "FAULT: no versions in $2"; exit 1; }
[ "$(printf '%s\nGLIBC_2.17\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.17 ] || {
  echo "FAULT: $2 needs $newest: $("$1" -T "$2" | grep "$newest")"
  exit 1
}
needed=$("$1" -p "$2" | awk '/NEEDED/ {print $2}' | tr '\n' ' ')
[ "$needed" = "libc.so.6 " ] || { echo "FAULT: $2 needs $needed"; exit 1; }
echo "$2 needs $newest"
