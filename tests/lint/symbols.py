#!/usr/bin/env python3
"""symbols.py BUILD: checks the undefined symbols of core's objects (nm -u), and the two programs' libraries.

Core uses libc for memory, strings and mathematics, and each library only through the entry points and in the files
that are listed here: no file, socket, thread, clock, environment or output. The daemon must not link a reader of
untrusted bytes, the worker must not link the network or the index. Symbols that core exports begin with hob_ (the client's
with hobc_), those of server with srv_ or hob_. The programs need neither libpq nor libcurl, which are for the modules of the
farm. Prints one line per finding; exits 1 if there is any."""
import fnmatch
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIBC = set("""
    aligned_alloc calloc free malloc realloc
    memchr memcmp memcpy memmem memmove memset strchr strcmp strlen strncmp strnlen strrchr strstr
    qsort qsort_r snprintf vsnprintf strtod strtol
    acos acosf asin asinf atan atan2 atan2f atanf cbrt cbrtf ceil ceilf copysign copysignf cos cosf exp exp2 exp2f expf
    fabs fabsf floor floorf fma fmaf fmax fmaxf fmin fminf fmod fmodf frexp hypot hypotf isnan ldexp ldexpf llround
    llroundf log log10 log2 log2f logf lrint lrintf lround lroundf modf nearbyint nearbyintf nextafter nextafterf pow powf rint
    rintf round roundf sin sincos sincosf sinf sqrt sqrtf tan tanf trunc truncf
""".split())
# Symbols that the compiler adds: assertions, checked copies, stack guards, linkage, instrumentation.
COMPILER = re.compile(r"__assert_fail|__(mem|str|v?snprintf)\w*_chk|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|__isoc\w+|"
                      r"__(asan|odr_asan|ubsan|tsan|sanitizer|msan|gcov|llvm|sancov|start|stop)[\w.]*|bcmp|__isnan\w*|__isinf\w*|__finite\w*")
CPLUSPLUS = re.compile(r"_Z\w+|__cxa_\w+|__gxx_personality_v0|__dso_handle|_Unwind_Resume")
# Entry points of a library -> the files that may call them.
LIBRARIES = {
    r"_setjmp|longjmp|__longjmp_chk": ["core/base/memory.c"],
    r"SHA256_\w+": ["core/hash/*.c"],
    r"XXH3_\w+": ["core/hash/*.c"],
    r"ai[A-Z]\w+": ["core/import/assimp/*.c"],
    r"cJSON_\w+": ["core/import/gltf/*.c", "core/base/json_text.c", "core/base/own.c", "core/import/merge.c", "core/settings/rule_settings.c", "core/settings/settings.c", "core/settings/cook_key.c"],
    r"meshopt_\w+": ["core/mesh/*.c", "core/mesh/meshopt_shim.cpp", "core/formats/*.c", "core/import/gltf/gltf_meshopt.c"],
    r"ZSTD_\w+": ["core/texture/*.c", "core/formats/*.c", "core/import/blend.c"],
    r"XML_\w+": ["core/import/xml.c"],
    r"libdeflate_\w+": ["core/texture/*.c", "core/import/zip.c", "core/import/fbx/fbx_tree.c"],
    r"WebP\w+": ["core/texture/picture_*.c"],
    r"TIFF\w+": ["core/texture/picture_tiff.c"],
    r"exr_\w+": ["core/texture/picture_exr.c"],
    r"avif\w+": ["core/texture/picture_avif.c"],
    r"astcenc_\w+": ["core/texture/astc*.cpp"],
    # The client takes no part in cooking: renderers link it, and it uses sockets and a cache folder.
    r"socket|connect|send|recv|setsockopt|getsockopt|getaddrinfo|freeaddrinfo|clock_gettime|getenv|getcwd|__getcwd_chk|geteuid": ["core/client/client_net.c"],
    r"write|rename|unlink|access|getpid": ["core/client/client_cache.c"],
    r"open(64)?|read|fstat(64)?": ["core/client/client_cache.c", "core/client/client_net.c"],
    r"close|poll|__errno_location|strpbrk|__poll_chk|__read_chk|__recv_chk|__open64_2": ["core/client/*.c"],
}
# Libraries that a program may name, besides libc, libm and the compiler's own.
PROGRAMS = {
    # `hob export` and output=glb unpack cooked textures: deflate writes PNG, astcenc reads the blocks. The commands speak TLS.
    "hob": {"crypto", "ssl", "xxhash", "cjson", "meshoptimizer", "zstd", "deflate", "astcenc", "stdc++", "microhttpd", "uv", "sqlite3", "utf8proc"},
    "hob-exporter": {"seccomp"},
    "hob-git": {"git2", "deflate", "seccomp"},
    "hob-lfs": {"crypto", "ssl", "xxhash", "cjson", "seccomp"},
    "hob-thumbnail": {"EGL", "GLESv2", "meshoptimizer", "zstd", "seccomp"},
    "hob-worker": {"crypto", "xxhash", "cjson", "meshoptimizer", "zstd", "deflate", "webp", "tiff", "avif", "OpenEXRCore-3_1", "assimp", "draco", "seccomp",
                   "astcenc", "stdc++", "expat", "utf8proc"},
}
# Without the libraries that take longest to load.
PROGRAMS["hob-worker-lean"] = PROGRAMS["hob-worker"] - {"assimp", "draco", "avif", "tiff"}
# The farm's drivers are modules: the libraries of each. A module exports only its table.
MODULES = {"hob-farm-postgres.so": {"pq"}, "hob-farm-s3.so": {"curl"}}
COMMON = re.compile(r"c|m|pthread|gcc_s|asan|ubsan|tsan|gcov|ld-linux.*")
# Code that parses untrusted bytes and is compiled in rather than linked: never in the daemon.
FOREIGN = re.compile(r"stbi_\w+|hob_import|hob_importer_for|hob_picture_decode|hob_cook")


# stb_image is compiled into one file of core, and keeps its own names.
EXPORTED = {"core": re.compile(r"hobc?_\w+|stbi_\w+"), "server": re.compile(r"(srv|hob)_\w+|main")}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def objects(build, part="core"):
    """The objects of a part: {object: source}."""
    found = {}
    for path in sorted(build.glob(f"CMakeFiles/[hs][or][bv]_*.dir/{part}/**/*.o")):
        source = str(path.relative_to(build)).split("/", 2)[2].removesuffix(".o")
        if (ROOT / source).exists() and "/examples/" not in source:  # examples are programs
            found[str(path)] = source
    return found


def names_of(option, paths):
    """(object, symbol) pairs as nm lists them."""
    for line in run("nm", "-A", option, *paths).splitlines():
        path, rest = line.split(":", 1)
        yield path, rest.split()[-1].split("@")[0]


def check_objects(build, findings):
    sources = objects(build)
    if not sources:
        findings.append(f"{build}: there are no objects of core; build first")
        return 0
    own = {name for _, name in names_of("--defined-only", sources)}
    for path, name in names_of("-u", sources):
        source = sources[path]
        if name in own or name in LIBC or COMPILER.fullmatch(name):
            continue
        if source.endswith(".cpp") and CPLUSPLUS.fullmatch(name):
            continue
        places = next((files for call, files in LIBRARIES.items() if re.fullmatch(call, name)), None)
        if places is None:
            findings.append(f"{source}: asks for '{name}', which is neither memory, string, mathematics nor a named library")
        elif not any(fnmatch.fnmatch(source, place) for place in places):
            findings.append(f"{source}: calls '{name}', which is for {', '.join(places)}")
    return len(sources)


def check_exports(build, findings):
    for part, allowed in EXPORTED.items():
        sources = objects(build, part)
        listed = run("nm", "-A", "-g", "--defined-only", *sources).splitlines()
        for path, kind, name in (re.match(r"(.+?):\S* *(\S) (\S+)", line).groups() for line in listed):
            if kind in "TDBRC" and not allowed.fullmatch(name) and not COMPILER.fullmatch(name):
                findings.append(f"{sources[path]}: exports '{name}' without the prefix of {part}")


def check_program(build, program, findings):
    path = build / program
    for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", str(path))):
        name = re.sub(r"^lib|\.so.*$", "", needed)
        if name not in PROGRAMS[program] and not COMMON.fullmatch(name):
            findings.append(f"{program}: links {needed}, which is not for it")
    if program == "hob":
        foreign = [name for name in run("nm", str(path)).split() if FOREIGN.fullmatch(name)]
        if foreign:
            findings.append(f"{program}: contains '{foreign[0]}' and {len(foreign) - 1} more that are for the worker")


def check_module(build, module, findings):
    path = build / module
    for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", str(path))):
        name = re.sub(r"^lib|\.so.*$", "", needed)
        if name not in MODULES[module] and not COMMON.fullmatch(name):
            findings.append(f"{module}: links {needed}, which is not for it")
    exported = {line.split()[-1] for line in run("nm", "-D", "--defined-only", str(path)).splitlines()}
    if {name for name in exported if not COMPILER.fullmatch(name)} != {"srv_farm_driver"}:
        findings.append(f"{module}: exports {sorted(exported)}, not srv_farm_driver alone")


def main():
    build = pathlib.Path(sys.argv[1])
    findings = []
    count = check_objects(build, findings)
    check_exports(build, findings)
    for program in PROGRAMS:
        if program in ("hob-thumbnail", "hob-git", "hob-lfs", "hob-worker-lean") and not (build / program).exists():
            continue  # built only where OpenGL ES, libgit2 or an Assimp that runs here is installed
        check_program(build, program, findings)
    for module in MODULES:
        if (build / module).exists():  # built only where its library is installed
            check_module(build, module, findings)
    print("\n".join(findings) or f"symbols: {count} objects of core and {len(PROGRAMS)} programs ask for nothing else")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
