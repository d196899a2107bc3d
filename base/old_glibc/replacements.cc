// Functions of libc that are newer than 2.17, by system calls (CMakeLists.txt). Their declarations are
// glibc's own, in its headers, where it has any.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#define TFABRIC_HIDDEN __attribute__((visibility("hidden")))

extern "C" {

// 2.32. What asks for it counts references by atomic operations where it is not set.
TFABRIC_HIDDEN char __libc_single_threaded = 0;

// 2.25. A kernel before 3.17 does not have it: ENOSYS, for which its callers have another way.
TFABRIC_HIDDEN ssize_t getrandom(void* buffer, std::size_t size, unsigned flags) {
  return syscall(SYS_getrandom, buffer, size, flags);
}

// 2.25. The compiler may not leave out what happens before an asm that may read all memory.
TFABRIC_HIDDEN void __explicit_bzero_chk(void* buffer, std::size_t size, std::size_t /*object_size*/) {
  std::memset(buffer, 0, size);
  asm volatile("" : : "r"(buffer) : "memory");
}

// 2.27. A kernel before 3.17 does not have it, either.
TFABRIC_HIDDEN int memfd_create(const char* name, unsigned flags) noexcept {
  return static_cast<int>(syscall(SYS_memfd_create, name, flags));
}

// 2.33, before which programs had a copy each of functions that say which form of the struct they know.
// On 64 bits the kernel's form is glibc's.
TFABRIC_HIDDEN int stat(const char* path, struct stat* out) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, out, 0));
}
TFABRIC_HIDDEN int lstat(const char* path, struct stat* out) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW));
}
TFABRIC_HIDDEN int fstat(int descriptor, struct stat* out) noexcept {
  return static_cast<int>(syscall(SYS_fstat, descriptor, out));
}
TFABRIC_HIDDEN int fstatat(int folder, const char* path, struct stat* out, int flags) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, folder, path, out, flags));
}
TFABRIC_HIDDEN int stat64(const char* path, struct stat64* out) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, out, 0));
}
TFABRIC_HIDDEN int fstat64(int descriptor, struct stat64* out) noexcept {
  return static_cast<int>(syscall(SYS_fstat, descriptor, out));
}
TFABRIC_HIDDEN int mknod(const char* path, mode_t mode, dev_t device) noexcept {
  // The kernel's argument has 32 bits, which are the lower ones of glibc's.
  return static_cast<int>(syscall(SYS_mknodat, AT_FDCWD, path, mode, static_cast<unsigned>(device)));
}

}  // extern "C"
