#include "tests/nccl/fakecuda/patch.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "tests/nccl/fakecuda/address.h"
#include "tests/nccl/fakecuda/log.h"

namespace fakecuda {
namespace {

constexpr int kNotSupported = 801;  // cudaErrorNotSupported
constexpr std::size_t kStubBytes = 32, kPoolBytes = 65536;

int unimplemented(const char* name) {
  say(fmt::format("unimplemented runtime call {}", name));
  return kNotSupported;
}

void protect(std::uintptr_t begin, std::uintptr_t end, int protection) {
  if (mprotect(at_address(begin), end - begin, protection) != 0) {
    die("mprotect: {}", std::strerror(errno));
  }
}

}  // namespace

void write_jump(void* at, const void* to) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const std::uintptr_t begin = address & ~(page - 1);
  const std::uintptr_t end = (address + kJumpBytes + page - 1) & ~(page - 1);
  std::uint8_t code[kJumpBytes] = {0xff, 0x25, 0, 0, 0, 0};  // jmp *[rip+0], followed by the target
  std::memcpy(code + 6, &to, sizeof to);
  protect(begin, end, PROT_READ | PROT_WRITE | PROT_EXEC);
  std::memcpy(at, code, sizeof code);
  protect(begin, end, PROT_READ | PROT_EXEC);
}

const void* make_stub(const char* name) {
  static std::uint8_t* pool = nullptr;
  static std::size_t left = 0;
  if (left < kStubBytes) {
    void* fresh =
        mmap(nullptr, kPoolBytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED) {
      die("mmap of stubs: {}", std::strerror(errno));
    }
    pool = static_cast<std::uint8_t*>(fresh);
    left = kPoolBytes;
  }
  std::uint8_t* stub = pool;
  auto* function = &unimplemented;
  const std::uint8_t code[] = {0x48, 0xbf, 0, 0, 0, 0, 0, 0, 0, 0,  // mov rdi, name
                               0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,  // mov rax, function
                               0xff, 0xe0};                         // jmp rax
  std::memcpy(stub, code, sizeof code);
  std::memcpy(stub + 2, &name, sizeof name);
  std::memcpy(stub + 12, &function, sizeof function);
  pool += kStubBytes;
  left -= kStubBytes;
  return stub;
}

}  // namespace fakecuda
