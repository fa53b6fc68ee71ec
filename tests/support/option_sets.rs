//! Option sets to compile programs with.

/// Option sets for cc1: the usual levels, alone and with what takes other paths through the compiler.
pub const CC1_OPTIONS: &[&str] = &[
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-Os",
    "-Og",
    "-Ofast",
    "-O2 -g",
    "-O0 -g3",
    "-O3 -funroll-loops",
    "-O2 -fno-inline",
    "-O2 -fwrapv -fno-strict-aliasing",
    "-O3 -fno-tree-vectorize -fno-ivopts",
    "-O2 -fPIC -fstack-protector-all",
    "-O1 -ftree-vectorize -mavx2",
    "-O2 -m32",
    "-O2 -fprofile-arcs -ftest-coverage",
    "-O3 -fipa-pta -fgcse-after-reload",
    "-Os -fomit-frame-pointer -ffunction-sections",
    "-O2 -fdump-tree-optimized -fdump-rtl-final",
];

/// Option sets for tcc.
pub const TCC_OPTIONS: &[&str] = &[
    "-c",
    "-c -g",
    "-c -b",
    "-c -Wall",
    "-E",
    "-E -P",
    "-c -funsigned-char",
    "-c -fno-common",
    "-c -mms-bitfields",
    "-c -DX=1 -UX",
    "-c -v",
    "-c -std=c11",
    "-c -fleading-underscore",
    "-c -Wunsupported -Wwrite-strings",
    "-c -g -b -Wall",
    "-c -nostdinc",
    "-c -fno-builtin",
    "-vv -c",
    "-c -O2",
    "-r",
];
