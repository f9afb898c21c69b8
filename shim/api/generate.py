#!/usr/bin/python3
"""Makes functions.def, signatures.h and function_hash.inc from the public headers of one or more CUDA toolkits.

    generate.py [--out DIR] INCLUDE_DIR...

Give the newest toolkit first. A function that two toolkits declare differently gets the longer list of words (a word
nobody passed is only handed on). Needs libclang's Python binding (python3-clang). The output is committed, so that a
build needs neither this program nor any particular toolkit.
"""
import argparse
import os
import re
import sys
import tempfile

import clang.cindex as ci

HEADERS = {
    "DRV": ["cuda.h", "cudaTypedefs.h", "cudaProfiler.h", "cudaProfilerTypedefs.h", "cudaGL.h", "cudaGLTypedefs.h",
            "cudaEGL.h", "cudaEGLTypedefs.h", "cudaVDPAU.h", "cudaVDPAUTypedefs.h"],
    "RT": ["cuda_runtime_api.h", "cuda_profiler_api.h", "cuda_gl_interop.h", "cuda_egl_interop.h",
           "cuda_vdpau_interop.h"],
    "NCCL": ["nccl.h"],
}
NAME = {"DRV": re.compile(r"cu[A-Z]\w*$"), "RT": re.compile(r"(__)?cuda[A-Z]\w*$"), "NCCL": re.compile(r"p?nccl[A-Z]\w*$")}

# What the interop headers want from other projects: only names of types, all of one word.
FOREIGN = {
    "GL/gl.h": "typedef unsigned int GLuint, GLenum; typedef int GLint; typedef void GLvoid;",
    "EGL/egl.h": "typedef void *EGLStreamKHR, *EGLImageKHR, *EGLSyncKHR; typedef int EGLint; typedef unsigned int EGLuint;",
    "EGL/eglext.h": "",
    "vdpau/vdpau.h": "typedef unsigned int VdpDevice, VdpVideoSurface, VdpOutputSurface, VdpFuncId, VdpStatus;"
                     "typedef VdpStatus VdpGetProcAddress(VdpDevice, VdpFuncId, void **);",
}

# Functions that nvcc's generated code calls: declared for the compiler only (crt/host_runtime.h), where they are
# declared at all. name: (ret, sig)
COMPILER = {
    "__cudaRegisterFatBinary": ("PTR", "U"),
    "__cudaRegisterFatBinaryEnd": ("VOID", "U"),
    "__cudaUnregisterFatBinary": ("VOID", "U"),
    "__cudaRegisterVar": ("VOID", "U" * 8),
    "__cudaRegisterManagedVar": ("VOID", "U" * 8),
    "__cudaRegisterHostVar": ("VOID", "U" * 4),
    "__cudaRegisterFunction": ("VOID", "U" * 10),
    "__cudaRegisterTexture": ("VOID", "U" * 7),
    "__cudaRegisterSurface": ("VOID", "U" * 6),
    "__cudaRegisterUnifiedTable": ("PTR", "U"),
    "__cudaInitModule": ("INT", "U"),
    "__cudaPushCallConfiguration": ("INT", "GGUU"),
    "__cudaPopCallConfiguration": ("INT", "UUUU"),
    "__cudaGetKernel": ("INT", "UU"),
    "__cudaLaunchKernel": ("INT", "UGGUUU"),
    "__cudaLaunchKernel_ptsz": ("INT", "UGGUUU"),
}

# Of CUPTI those by which a program begins to use it, which the tool's own use then has to end for. name: (ret, sig)
PROFILERS = {
    "cuptiActivityEnable": ("INT", "U"),
    "cuptiActivityEnableAndDump": ("INT", "U"),
    "cuptiActivityEnableContext": ("INT", "UU"),
    "cuptiActivityRegisterCallbacks": ("INT", "UU"),
    "cuptiActivityRegisterTimestampCallback": ("INT", "U"),
    "cuptiEventGroupEnable": ("INT", "U"),
    "cuptiFinalize": ("INT", "N"),
    "cuptiPCSamplingEnable": ("INT", "U"),
    "cuptiProfilerInitialize": ("INT", "U"),
    "cuptiRangeProfilerEnable": ("INT", "U"),
    "cuptiSassMetricsEnable": ("INT", "U"),
    "cuptiSubscribe": ("INT", "UUU"),
    "cuptiSubscribe_v2": ("INT", "UUUU"),
}

# By-value structs above one word: size → (letter, members). They are passed in memory, or (12 bytes) in two integer
# registers, so size and integer members fix the ABI on x86-64 and aarch64.
STRUCTS = {12: ("G", "uint32_t x, y, z"), 24: ("E", "uint64_t word[3]"), 32: ("P", "uint64_t word[4]"),
           64: ("I", "uint64_t word[8]"), 128: ("Q", "uint64_t word[16]"), 104: ("V", "uint64_t word[13]"), 280: ("X", "uint64_t word[35]")}
RETURNED_STRUCTS = {20: "DESC"}

KINDS = [
    ("REGISTER", r"__cuda(?!LaunchKernel)"),
    ("LAUNCH", r"cuLaunch(Kernel|KernelEx|CooperativeKernel|CooperativeKernelMultiDevice|Grid|GridAsync)?$"
               r"|(__)?cudaLaunch(Kernel|KernelExC|CooperativeKernel|CooperativeKernelMultiDevice)$"),
    ("COPY", r"cu(da)?Memcpy"),
    ("MEMSET", r"cu(da)?Memset"),
    ("MEMORY", r"cuMem(Alloc|Free|HostAlloc|HostRegister|HostUnregister|Create$|Release$|Map$|Unmap$|AddressReserve|AddressFree"
               r"|PoolCreate|PoolDestroy|PoolTrimTo)|cu(Array|Array3D|MipmappedArray)(Create|Destroy)$"
               r"|cuda(Malloc|Free|HostAlloc|HostRegister|HostUnregister|MemPoolCreate|MemPoolDestroy|MemPoolTrimTo)"),
    ("ORDER", r"cu(da)?Stream(Create\w*|Destroy|Synchronize|Query|WaitEvent|AddCallback)$"
              r"|cu(da)?Event(Create\w*|Destroy|Record\w*|Synchronize|Query)$"
              r"|cuCtxSynchronize$|cuda(Device|Thread)Synchronize$|cu(da)?LaunchHostFunc$"),
    ("MODULE", r"cuModule(Load(?!ing)|Unload)|cu(da)?Library(Load|Unload)|cuLink"),
    ("COMM", r"p?nccl(AllReduce|Reduce|ReduceScatter|Broadcast|Bcast|AllGather|AlltoAll|Gather|Scatter|Send|Recv)$"),
    ("GRAPH", r"cu(da)?Stream(BeginCapture|EndCapture)|cu(da)?Graph(Create|Clone|Instantiate|ExecUpdate|Upload|Launch|Destroy|ExecDestroy)(?!Node)"),
]
BLOCKS = re.compile(
    r"cu(da)?(Stream|Event|Ctx|Device|Thread)Synchronize$|cuInit$|cudaSetDevice$|cudaInitDevice$|cudaDeviceReset$|cudaThreadExit$"
    r"|cu(da)?Memcpy(?!.*Async)"
    r"|cuMem(Alloc|Free|HostAlloc|HostRegister|HostUnregister|Create|Release|Map$|Unmap|PoolTrimTo|PoolDestroy)(?!.*Async)"
    r"|cuda(Malloc|Free|HostAlloc|HostRegister|HostUnregister|MemPoolTrimTo|MemPoolDestroy)(?!.*Async)"
    r"|cu(Array|Array3D|MipmappedArray)(Create|Destroy)$"
    r"|cuModule(Load(?!ing)|Unload)|cu(da)?Library(Load|Unload)|cuLink|cuFuncLoad$|cu(da)?GraphInstantiate"
    r"|cuCtx(Create|Destroy|Detach)|cuDevicePrimaryCtx(Retain|Release|Reset)|cuGreenCtx(Create|Destroy)"
    r"|p?nccl(CommInit|CommFinalize|CommDestroy|CommAbort|CommSplit|CommShrink|CommRegister|CommDeregister|CommWindow|GetUniqueId"
    r"|GroupEnd|MemAlloc|MemFree|CommRevoke|CommGrow)")

# Calls that only ask for what is known at once, and change nothing.
ASKS = re.compile(
    r"cuCtxGet(ApiVersion|Current|Device|Flags|Id|StreamPriorityRange)$|cuDeviceGet(Attribute|Count)?$|cuDevicePrimaryCtxGetState$"
    r"|cudaGetDevice(Count|Flags)?$|cuda(Get|Peek(At)?)LastError$|cudaDeviceGet(Attribute|StreamPriorityRange)$"
    r"|cu(da)?Stream(IsCapturing|GetCaptureInfo|GetCtx|GetDevice|GetFlags|GetId|GetPriority)$"
    r"|cu(Func|Kernel|Pointer)GetAttributes?$|cuda(Func|Pointer)GetAttributes$"
    r"|cu(da)?OccupancyMaxActiveBlocksPerMultiprocessor(WithFlags)?$")


def word_class(ctype, where):
    ctype = ctype.get_canonical()
    kind = ctype.kind
    if kind in (ci.TypeKind.FLOAT,):
        return "F"
    if kind in (ci.TypeKind.DOUBLE,):
        return "D"
    if kind in (ci.TypeKind.RECORD,):
        size = ctype.get_size()
        if size <= 8:
            return "U"
        if size not in STRUCTS:
            sys.exit(f"{where}: a struct of {size} bytes by value has no letter")
        return STRUCTS[size][0]
    if ctype.get_size() > 8:
        sys.exit(f"{where}: {ctype.spelling} does not fit a word")
    return "U"


def return_class(ctype, where):
    ctype = ctype.get_canonical()
    kind = ctype.kind
    if kind == ci.TypeKind.VOID:
        return "VOID"
    if kind == ci.TypeKind.POINTER:
        return "PTR"
    if kind == ci.TypeKind.RECORD:
        return RETURNED_STRUCTS[ctype.get_size()]
    if kind in (ci.TypeKind.ULONG, ci.TypeKind.LONG, ci.TypeKind.ULONGLONG):
        return "U64"
    if kind in (ci.TypeKind.ENUM, ci.TypeKind.INT, ci.TypeKind.UINT):
        return "INT"
    sys.exit(f"{where}: no class for the returned {ctype.spelling}")


def parse(header, include, defines, foreign):
    path = os.path.join(include, header)
    if not os.path.exists(path):
        return None
    source = f'#include <{"cuda.h" if header.startswith("cuda") else "stddef.h"}>\n' \
             f'{"#include <vdpau/vdpau.h>" if "VDPAU" in header or "vdpau" in header else ""}\n#include "{path}"\n'
    unit = ci.Index.create().parse("all.c", args=["-I" + include, "-I" + foreign] + ["-D" + d for d in defines],
                                   unsaved_files=[("all.c", source)])
    errors = [d for d in unit.diagnostics if d.severity >= ci.Diagnostic.Error]
    if errors:
        sys.exit(f"{path}: {errors[0]}")
    return unit.cursor


def collect(include, foreign):
    """Returns {(api, symbol): (ret, sig)} and {(base, mode): {version: sig}} of one toolkit."""
    functions, versions = {}, {}
    for api, headers in HEADERS.items():
        # Per-thread names are made by macros: the same header is read once a stream mode, and once with all versions.
        for defines in (["__CUDA_API_VERSION_INTERNAL"], [], ["CUDA_API_PER_THREAD_DEFAULT_STREAM"]):
            for header in headers:
                root = parse(header, include, defines, foreign)
                for node in root.get_children() if root else []:
                    if node.kind == ci.CursorKind.FUNCTION_DECL and NAME[api].match(node.spelling):
                        # Device-side and inline helpers live in the same headers.
                        if node.is_definition() or node.storage_class == ci.StorageClass.STATIC:
                            continue
                        if api == "RT" and "__CUDA_API_VERSION_INTERNAL" in defines:
                            continue
                        sig = "".join(word_class(a.type, node.spelling) for a in node.get_arguments()) or "N"
                        functions[api, node.spelling] = (return_class(node.result_type, node.spelling), sig)
                    elif node.kind == ci.CursorKind.TYPEDEF_DECL and api == "DRV":
                        m = re.match(r"PFN_(cu\w+)_v(\d+)(?:_(pt[sd][sz]))?$", node.spelling)
                        if m:
                            proto = node.underlying_typedef_type.get_pointee()
                            sig = "".join(word_class(a, node.spelling) for a in proto.argument_types()) or "N"
                            versions.setdefault((m[1], bool(m[3])), {})[int(m[2])] = sig
    return functions, versions


def split_symbol(symbol):
    """cuMemcpyHtoD_v2_ptds → ("cuMemcpyHtoD", 2, True)"""
    m = re.match(r"(.+?)(?:_v(\d+))?(_pt[sd][sz])?$", symbol)
    return m[1], int(m[2] or 1), bool(m[3])


def assign_versions(functions, versions):
    """Pairs each base's symbols, in their order, with its versions, in theirs. Returns {symbol: version}."""
    by_base = {}
    for api, symbol in functions:
        if api == "DRV":
            base, number, per_thread = split_symbol(symbol)
            by_base.setdefault((base, per_thread), []).append((number, symbol))
    result = {}
    for key, known in versions.items():
        symbols = [s for _, s in sorted(by_base.get(key, []))]
        numbers = sorted(known)
        if len(symbols) > len(numbers):
            # Names that the look-up never answers (cuXxx_v2_ptds exists, an older cuXxx_ptds was never made known).
            fitting = [s for s in symbols if functions["DRV", s][1] in known.values()]
            symbols = fitting if len(fitting) == len(numbers) else symbols[-len(numbers):]
        if len(symbols) != len(numbers):
            print(f"note: {key}: versions {numbers} but symbols {symbols}", file=sys.stderr)
        for symbol, number in zip(symbols, numbers):
            result[symbol] = number
    return result


def wait_of(plain):
    return "BLOCKS" if BLOCKS.match(plain) else "ASKS" if ASKS.match(plain) else "QUICK"


def kind_of(base):
    for kind, pattern in KINDS:
        if re.match(pattern, base):
            return kind
    return "NONE"


def fnv1a(text):
    value = 2166136261
    for byte in text.encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


MARK_HEAD = """/*
 * A mark of the numbers that functions have in this build: FNV-1a over the symbols of functions.def, each followed by a
 * line feed. It lies in the preloaded library, so that a recorder of another build is known. Made by generate.py; do not
 * edit.
 */
#ifndef GW_SHIM_API_FUNCTIONS_MARK_H
#define GW_SHIM_API_FUNCTIONS_MARK_H

"""


def mark(symbols):
    value = 14695981039346656037
    for byte in "".join(symbol + "\n" for symbol in symbols).encode():
        value = (value ^ byte) * 1099511628211 % 2**64
    return value


def hash_table(keys, size):
    """Open addressing with linear probing; keys: [(text, id)]. 0xffff is an empty slot."""
    table = [0xFFFF] * size
    for text, ident in keys:
        slot = fnv1a(text) % size
        while table[slot] != 0xFFFF:
            slot = (slot + 1) % size
        table[slot] = ident
    return table


DEF_HEAD = """/*
 * The functions of the CUDA driver, the CUDA runtime and NCCL, and those that claim CUPTI: one row a function. Made by
 * generate.py; do not edit.
 *
 *   GW_FN(api, symbol, base, version, stream_mode, ret, sig, kind, wait)
 *
 * api          DRV | RT | NCCL | CUPTI
 * symbol       the exported name: cuMemcpyHtoD_v2, cudaMemcpyAsync_ptsz
 * base         the name without version and stream mode; cuGetProcAddress is asked for this one
 * version      the first CUDA version whose look-up of base answers this symbol; 0: it is not looked up that way
 * stream_mode  LEGACY | PER_THREAD: which stream NULL means
 * ret          INT: 32-bit status (0 is success) | U64 | PTR | VOID | DESC: a struct of 20 bytes
 * sig          one letter an argument, N for none: U integer, pointer or struct of at most 8 bytes; F float; D double;
 *              G struct of 12 bytes (dim3); E of 24; P of 32; I of 64; V of 104; Q of 128; X of 280. signatures.h has the C for each.
 *              Where two CUDA versions give one symbol different arguments, the longer list stands.
 * kind         NONE | LAUNCH | COPY | MEMSET | MEMORY | ORDER | MODULE | GRAPH | COMM: the typed event it can write;
 *              REGISTER: called by constructors that nvcc makes, never recorded
 * wait         QUICK | BLOCKS: it can block, so its entry is written too | ASKS: it only asks for what is known at once;
 *              it is counted, not recorded, unless it fails or takes long
 *
 * The number of the row is the function id. Rows of one api, base and stream mode stand together, oldest version first.
 */
"""


def write_signatures(out, sigs):
    struct_of = {letter: f"struct gw_bytes{size}" for size, (letter, _) in STRUCTS.items()}
    ctype = {"U": "uint64_t", "F": "float", "D": "double", **struct_of}
    lines = ["/*", " * C text for each sig of functions.def. Made by generate.py; do not edit.", " *",
             " *   GW_PARAMS_SIG  the parameter list", " *   GW_ARGS_SIG    the same as arguments of a call",
             " *   GW_WORDS_SIG   the same flattened into initialisers of uint64_t (G gives 2 words, the others one for each 8 bytes)",
             " *   GW_COUNT_SIG   how many words that are", " */", "#ifndef GW_SHIM_API_SIGNATURES_H",
             "#define GW_SHIM_API_SIGNATURES_H", "", "#include <stdint.h>", ""]
    for size, (_, members) in STRUCTS.items():
        lines += [f"struct gw_bytes{size} {{", f"    {members};", "};"]
    lines += ["struct gw_bytes20 {", "    int32_t member[5];", "};", "",
              "static inline uint64_t gw_word_float(float value)", "{", "    union {", "        float real;",
              "        uint32_t bits;", "    } u = {.real = value};", "    return u.bits;", "}", "",
              "static inline uint64_t gw_word_double(double value)", "{", "    union {", "        double real;",
              "        uint64_t bits;", "    } u = {.real = value};", "    return u.bits;", "}", "",
              "// clang-format off"]

    def words(letter, name):
        if letter == "U":
            return [name]
        if letter == "F":
            return [f"gw_word_float({name})"]
        if letter == "D":
            return [f"gw_word_double({name})"]
        if letter == "G":
            return [f"(uint64_t)({name}).y << 32 | ({name}).x", f"({name}).z"]
        size = next(s for s, (l, _) in STRUCTS.items() if l == letter)
        return [f"({name}).word[{i}]" for i in range(size // 8)]

    for sig in sorted(sigs, key=lambda s: (len(s), s)):
        letters = "" if sig == "N" else sig
        params = ", ".join(f"{ctype[c]} a{i}" for i, c in enumerate(letters)) or "void"
        args = ", ".join(f"a{i}" for i in range(len(letters)))
        flat = [w for i, c in enumerate(letters) for w in words(c, f"a{i}")]
        lines += [f"#define GW_PARAMS_{sig} {params}", f"#define GW_ARGS_{sig} {args}".rstrip(),
                  f"#define GW_WORDS_{sig} {', '.join(flat) or '0'}", f"#define GW_COUNT_{sig} {len(flat)}"]
    lines += ["// clang-format on", "", "#endif", ""]
    out.write("\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("include", nargs="+")
    options = parser.parse_args()

    functions, versions = {}, {}
    with tempfile.TemporaryDirectory() as foreign:
        for name, text in FOREIGN.items():
            os.makedirs(os.path.dirname(os.path.join(foreign, name)), exist_ok=True)
            with open(os.path.join(foreign, name), "w") as f:
                f.write(text + "\n")
        for include in options.include:
            more_functions, more_versions = collect(include, foreign)
            for key, (ret, sig) in more_functions.items():
                old = functions.get(key)
                if old and old[1] != sig:
                    print(f"note: {key[1]}: {old[1]} and {sig}", file=sys.stderr)
                functions[key] = (ret, max(old[1] if old else "", "" if sig == "N" else sig, key=len) or "N")
            for key, known in more_versions.items():
                for number, sig in known.items():
                    versions.setdefault(key, {}).setdefault(number, sig)
    for symbol, (ret, sig) in COMPILER.items():
        functions["RT", symbol] = (ret, sig)
    for symbol, (ret, sig) in PROFILERS.items():
        functions["CUPTI", symbol] = (ret, sig)

    version_of = assign_versions(functions, versions)
    rows = []
    for (api, symbol), (ret, sig) in functions.items():
        base, number, per_thread = split_symbol(symbol) if api == "DRV" else \
            (re.sub(r"_pt[sd][sz]$", "", symbol), 1, bool(re.search(r"_pt[sd][sz]$", symbol)))
        version = version_of.get(symbol, 0) if api == "DRV" else 0
        rows.append((["DRV", "RT", "NCCL", "CUPTI"].index(api), base, per_thread, version, number, symbol, api, ret, sig))
    rows.sort()

    with open(os.path.join(options.out, "functions.def"), "w") as out:
        out.write(DEF_HEAD + "// clang-format off\n")
        for _, base, per_thread, version, _, symbol, api, ret, sig in rows:
            plain = base if api != "RT" else re.sub(r"_v\d+$", "", base)
            out.write(f"GW_FN({api}, {symbol}, {base}, {version}, {'PER_THREAD' if per_thread else 'LEGACY'}, {ret}, {sig}, "
                      f"{kind_of(plain)}, {wait_of(plain)})\n")
        out.write("// clang-format on\n")
    with open(os.path.join(options.out, "signatures.h"), "w") as out:
        write_signatures(out, {row[8] for row in rows})
    with open(os.path.join(options.out, "functions_mark.h"), "w") as out:
        out.write(MARK_HEAD + f'#define GW_FUNCTIONS_MARK "gpuwitness functions {mark(row[5] for row in rows):016x}"\n\n#endif\n')
    with open(os.path.join(options.out, "function_hash.inc"), "w") as out:
        out.write("// Hash tables over functions.def: FNV-1a, linear probing, 0xffff empty. Made by generate.py; do not edit.\n"
                  "// clang-format off\n")
        firsts = {}
        for ident, row in enumerate(rows):
            firsts.setdefault(row[1], ident)
        for name, keys in (("gw_symbol_slots", [(r[5], i) for i, r in enumerate(rows)]), ("gw_base_slots", list(firsts.items()))):
            table = hash_table(keys, 4096)
            out.write(f"static const uint16_t {name}[4096] = {{\n")
            for i in range(0, 4096, 20):
                out.write("    " + ", ".join(str(v) for v in table[i:i + 20]) + ",\n")
            out.write("};\n")
        out.write("// clang-format on\n")


main()
