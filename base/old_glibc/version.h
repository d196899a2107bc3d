// The version of a function in glibc: as on x86-64, or that of the first glibc on the other architectures.
#pragma once

#if defined(__x86_64__)
#define TFABRIC_GLIBC(x86_64) x86_64
#elif defined(__aarch64__)
#define TFABRIC_GLIBC(x86_64) "GLIBC_2.17"
#else
#error "Which versions has glibc on this architecture?"
#endif
