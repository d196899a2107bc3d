/* Preloaded into compilers: what they map for their memory may have large pages, where the kernel leaves that to programs
   (madvise). g++ has its memory from mmap, not from malloc, whose own tunable does the same. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { worth_it = 1 << 20 };

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  void *memory = (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
  if (memory != MAP_FAILED && (flags & MAP_ANONYMOUS) != 0 && size >= worth_it) madvise(memory, size, MADV_HUGEPAGE);
  return memory;
}
