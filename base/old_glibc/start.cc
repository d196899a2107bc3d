// The start of a program: what the linker's crt1.o of glibc 2.34 and later calls, for an older glibc.
//
// From 2.34 on, libc calls a program's constructors, and crt1.o no longer brings the function that does.
#include "base/old_glibc/version.h"

namespace {

using Main = int(int, char**, char**);
using Constructor = void(int, char**, char**);

}  // namespace

extern "C" {

// The linker's, around the program's constructors.
extern __attribute__((visibility("hidden"))) Constructor* __init_array_start[];
extern __attribute__((visibility("hidden"))) Constructor* __init_array_end[];
void _init();

int tfabric_old_libc_start_main(Main* main, int argc, char** argv, Constructor* init, void (*fini)(),
                                void (*end_of_loader)(), void* stack_end);
asm(".symver tfabric_old_libc_start_main,__libc_start_main@" TFABRIC_GLIBC("GLIBC_2.2.5"));

static void call_constructors(int argc, char** argv, char** environment) {
  _init();
  for (Constructor** each = __init_array_start; each != __init_array_end; ++each) {
    (*each)(argc, argv, environment);
  }
}

// The loader itself calls the destructors.
__attribute__((visibility("hidden"))) int __libc_start_main(Main* main, int argc, char** argv,
                                                            Constructor* /*init*/, void (*fini)(),
                                                            void (*end_of_loader)(), void* stack_end) {
  return tfabric_old_libc_start_main(main, argc, argv, call_constructors, fini, end_of_loader, stack_end);
}

}  // extern "C"
