#!/usr/bin/env bash
# Packs an installed gpuwitness with everything it needs but glibc into one relocatable archive: LTTng's daemons, all shared
# libraries, Babeltrace's plug-ins, a font, and the licences of all of them.
# usage: make_tarball.sh BUILD_FOLDER NAME OUTPUT.tar.gz
set -euo pipefail
build=$1 name=$2 output=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/$name
die() { printf 'make_tarball.sh: %s\n' "$1" >&2; exit 1; }

cmake --install "$build" --prefix "$root" >/dev/null
runtime=$root/lib/gpuwitness/runtime
mkdir -p "$runtime/babeltrace2" "$runtime/fonts" "$root/share/doc/gpuwitness/licences"

copied=() # the system's files, for their licences
take() { # FILE FOLDER
  cp -L "$1" "$2/"
  copied+=("$1")
}
for program in lttng-sessiond lttng-crash; do
  path=$(command -v "$program") || die "$program is not here: install lttng-tools"
  take "$path" "$runtime"
done
consumer=$(find /usr/lib /usr/libexec -name lttng-consumerd -type f 2>/dev/null | head -n 1)
[ -n "$consumer" ] || die "lttng-consumerd is not here: install lttng-tools"
take "$consumer" "$runtime"
take /usr/share/xml/lttng/session.xsd "$runtime"
plugins=$(pkg-config --variable=libdir babeltrace2)/babeltrace2/plugins
for plugin in ctf utils; do take "$plugins/babeltrace-plugin-$plugin.so" "$runtime/babeltrace2"; done
fonts=/usr/share/fonts/truetype/dejavu
for font in DejaVuSans DejaVuSans-Bold DejaVuSansMono; do take "$fonts/$font.ttf" "$runtime/fonts"; done
cp "$here/fonts.conf" "$runtime/"

# The libraries that all of these need. glibc has to be the system's: it belongs to the loader; so has MPI: to the launcher.
mapfile -t binaries < <(find "$root" -type f \( -perm -u+x -o -name '*.so*' \) ! -name 'libgpuwitness-mpi.so' | sort)
ldd "${binaries[@]}" 2>/dev/null | grep -q 'not found' && die "$(ldd "${binaries[@]}" | grep 'not found' | head -n 1): not found"
while read -r library; do take "$library" "$runtime"; done < <(
  ldd "${binaries[@]}" 2>/dev/null | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | sort -u | grep -v "^$root/" |
    grep -vE '/(ld-linux[^/]*|lib(c|m|dl|pthread|rt|resolv|util|anl|nsl|BrokenLocale|thread_db|nss_[a-z]+))\.so[.0-9]*$' |
    grep -vE '/lib(cuda|cudart|nccl|cupti)\.so')

for file in "${copied[@]}"; do
  package=$(dpkg -S "$(readlink -f "$file")" 2>/dev/null || dpkg -S "$file" 2>/dev/null) || continue
  package=${package%%:*}
  cp -L "/usr/share/doc/$package/copyright" "$root/share/doc/gpuwitness/licences/$package" 2>/dev/null || true
done

find "$root" -type f \( -name '*.so*' -o -perm -u+x \) -exec strip --strip-unneeded {} + 2>/dev/null || true
find "$runtime" -type f -name '*.so*' -exec "$here/allow_older_glibc.py" {} +
find "$root" -type f \( -name '*.so*' -o -perm -u+x \) -exec objdump -T {} + 2>/dev/null |
  grep -v arc4random | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1 | sed 's/GLIBC_//' >"$root/share/doc/gpuwitness/oldest-glibc"
tar -C "$work" --owner=0 --group=0 --numeric-owner --sort=name -czf "$output.part" "$name"
mv "$output.part" "$output"
echo "$output: $(du -h "$output" | cut -f1), glibc $(cat "$root/share/doc/gpuwitness/oldest-glibc") or newer"
