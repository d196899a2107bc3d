// Functions of libc by an older version than the one that a build would bind them to (CMakeLists.txt).
//
// Each is a jump, so that all arguments, and the return address by which dlopen() and dlsym() know their
// caller, stay as they are. glibc changes a version when a function's behaviour changes, or when the function
// moves to another library. Most of these moved, in 2.32 to 2.34; what the others lose is said below.

#include "base/old_glibc/version.h"

#if defined(__x86_64__)
#define TFABRIC_JUMP(name) "jmp *tfabric_old_" #name "@GOTPCREL(%rip)\n"
#elif defined(__aarch64__)
#define TFABRIC_JUMP(name)                      \
  "adrp x16, :got:tfabric_old_" #name           \
  "\n"                                          \
  "ldr x16, [x16, :got_lo12:tfabric_old_" #name \
  "]\n"                                         \
  "br x16\n"
#endif

// Defines `name` as a jump to `target`@version, in a section of its own, so that what is not used is dropped.
#define TFABRIC_BIND_TO(name, target, version) \
  asm(".pushsection .text.tfabric_old_" #name                                 \
      ",\"ax\",@progbits\n"                                                   \
      ".symver tfabric_old_" #name "," #target "@" TFABRIC_GLIBC(version) "\n" \
      ".globl " #name "\n.hidden " #name "\n.type " #name ",@function\n" #name ":\n" \
      ".cfi_startproc\n" TFABRIC_JUMP(name) ".cfi_endproc\n"                  \
      ".size " #name ",.-" #name "\n.popsection\n")
#define TFABRIC_BIND(name, version) TFABRIC_BIND_TO(name, name, version)

TFABRIC_BIND(dladdr, "GLIBC_2.2.5");
TFABRIC_BIND(dlclose, "GLIBC_2.2.5");
TFABRIC_BIND(dlerror, "GLIBC_2.2.5");
TFABRIC_BIND(dlopen, "GLIBC_2.2.5");
TFABRIC_BIND(dlsym, "GLIBC_2.2.5");
TFABRIC_BIND(dlvsym, "GLIBC_2.2.5");
TFABRIC_BIND(__pthread_key_create, "GLIBC_2.2.5");
TFABRIC_BIND(pthread_attr_getstacksize, "GLIBC_2.2.5");
TFABRIC_BIND(pthread_attr_setstack, "GLIBC_2.2.5");
TFABRIC_BIND(pthread_cancel, "GLIBC_2.2.5");
TFABRIC_BIND(pthread_condattr_setclock, "GLIBC_2.3.3");
TFABRIC_BIND(pthread_create, "GLIBC_2.2.5");
TFABRIC_BIND(pthread_detach, "GLIBC_2.2.5");
TFABRIC_BIND(pthread_getaffinity_np, "GLIBC_2.3.4");
TFABRIC_BIND(pthread_getname_np, "GLIBC_2.12");
TFABRIC_BIND(pthread_join, "GLIBC_2.2.5");
TFABRIC_BIND(pthread_mutex_trylock, "GLIBC_2.2.5");
TFABRIC_BIND(pthread_once, "GLIBC_2.2.5");
TFABRIC_BIND(pthread_setaffinity_np, "GLIBC_2.3.4");
TFABRIC_BIND(pthread_setname_np, "GLIBC_2.12");
TFABRIC_BIND(pthread_sigmask, "GLIBC_2.2.5");
// These are bound for arm64, where DPDK's archives use them.
TFABRIC_BIND(pthread_attr_setaffinity_np, "GLIBC_2.3.4");
TFABRIC_BIND(pthread_getspecific, "GLIBC_2.2.5");
TFABRIC_BIND(pthread_key_create, "GLIBC_2.2.5");
TFABRIC_BIND(pthread_key_delete, "GLIBC_2.2.5");
TFABRIC_BIND(pthread_mutex_timedlock, "GLIBC_2.2.5");
TFABRIC_BIND(pthread_setspecific, "GLIBC_2.2.5");
// 2.27 also finds links that lead nowhere.
TFABRIC_BIND(glob64, "GLIBC_2.2.5");
// 2.22 took its binary mode away, which nothing here asks for.
TFABRIC_BIND(fmemopen, "GLIBC_2.2.5");
// 2.28 gave it locks on open file descriptions for 32-bit programs. On 64 bits it is fcntl().
TFABRIC_BIND_TO(fcntl64, fcntl, "GLIBC_2.2.5");
// 2.29 is faster, and lets the program's own matherr() alone.
TFABRIC_BIND(exp, "GLIBC_2.2.5");
TFABRIC_BIND(exp2, "GLIBC_2.2.5");
TFABRIC_BIND(pow, "GLIBC_2.2.5");
