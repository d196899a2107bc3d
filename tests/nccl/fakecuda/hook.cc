// When the library is loaded, it finds libnccl.so.2 in the process, reads its .symtab, and redirects each
// entry point of the CUDA runtime that is linked into it to the function of the same name in this library.
//
// libnccl carries that runtime with local symbols, so nothing that is preloaded can take its place by name
// alone. The file on disk stays as it is. Runtime functions that this library lacks get a stub which says so.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/nccl/fakecuda/address.h"
#include "tests/nccl/fakecuda/log.h"
#include "tests/nccl/fakecuda/patch.h"
#include "tests/nccl/fakecuda/symbols.h"

namespace fakecuda {
namespace {

// A file mapped to be read.
class Image {
 public:
  explicit Image(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (file < 0 || fstat(file, &status) != 0) {
      die("cannot read {}", path);
    }
    size_ = static_cast<std::size_t>(status.st_size);
    void* data = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (data == MAP_FAILED) {
      die("cannot map {}", path);
    }
    data_ = static_cast<const std::byte*>(data);
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  ~Image() { munmap(const_cast<std::byte*>(data_), size_); }

  template <class T>
  [[nodiscard]] const T* at(std::size_t offset) const {
    return reinterpret_cast<const T*>(data_ + offset);
  }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// This library, to look its own functions up in.
class Self {
 public:
  Self() {
    dladdr(reinterpret_cast<const void*>(&make_stub), &info_);
    library_ = dlopen(info_.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }

  [[nodiscard]] const void* function(const std::string& name) const {
    void* found = library_ != nullptr ? dlsym(library_, name.c_str()) : nullptr;
    // dlsym looks into this library's dependencies as well, but only its own definition counts.
    Dl_info where{};
    const bool own = found != nullptr && dladdr(found, &where) != 0 && where.dli_fbase == info_.dli_fbase;
    return own ? found : nullptr;
  }

 private:
  Dl_info info_{};
  void* library_ = nullptr;
};

struct Symbol {
  const char* name;
  std::uintptr_t address;
  std::size_t size;
  int type;
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_kernel(std::string_view name) {
  return (contains(name, "ncclDevKernel_") || contains(name, "ncclSymDevKernel") ||
          contains(name, "oneRankReduce")) &&
         !contains(name, ".cold");
}

// Exactly "cuda" and a capital letter: the public interface.
bool is_runtime_call(std::string_view name) {
  return name.starts_with("cuda") && name.size() > 4 && name[4] >= 'A' && name[4] <= 'Z' &&
         !contains(name, ".");
}

struct Counts {
  int redirected = 0, stubbed = 0;
};

void redirect(const Symbol& symbol, const Self& self, Counts& counts) {
  if (symbol.size < kJumpBytes) {
    trace(1, "{} is left alone: {} bytes", symbol.name, symbol.size);
    return;
  }
  std::string plain = symbol.name;
  if (plain.ends_with("_ptsz")) {  // the variant for per-thread default streams
    plain.resize(plain.size() - 5);
  }
  const void* target = self.function(plain);
  if (target != nullptr) {
    ++counts.redirected;
  } else {
    target = make_stub(strdup(symbol.name));
    ++counts.stubbed;
  }
  write_jump(at_address(symbol.address), target);
}

void take(const Symbol& symbol, const Self& self, Counts& counts) {
  const std::string_view name = symbol.name;
  if (symbol.type == STT_OBJECT && name.starts_with("ncclDev")) {
    add_data(symbol.name, {at_address<const std::byte>(symbol.address), symbol.size});
  }
  if (symbol.type != STT_FUNC) {
    return;
  }
  if (is_kernel(name)) {
    add_kernel(symbol.address, symbol.name);
  }
  if (is_runtime_call(name)) {
    redirect(symbol, self, counts);
  }
}

void hook_library(const char* path, std::uintptr_t base) {
  const Image image(path);
  const auto* header = image.at<Elf64_Ehdr>(0);
  const auto* sections = image.at<Elf64_Shdr>(header->e_shoff);
  const Elf64_Shdr* table = nullptr;
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type == SHT_SYMTAB) {
      table = &sections[i];
    }
  }
  if (table == nullptr) {
    die("{} is stripped: its .symtab is needed", path);
  }
  const auto* symbols = image.at<Elf64_Sym>(table->sh_offset);
  const char* names = image.at<char>(sections[table->sh_link].sh_offset);
  const Self self;
  Counts counts;
  for (std::size_t i = 0; i < table->sh_size / sizeof(Elf64_Sym); ++i) {
    const Elf64_Sym& symbol = symbols[i];
    if (symbol.st_shndx != SHN_UNDEF) {
      take({names + symbol.st_name, base + symbol.st_value, symbol.st_size, ELF64_ST_TYPE(symbol.st_info)},
           self, counts);
    }
  }
  trace(1, "{}: {} runtime calls redirected, {} stubbed", path, counts.redirected, counts.stubbed);
}

struct Library {
  std::string path;
  std::uintptr_t base = 0;
};

int find_nccl(dl_phdr_info* info, std::size_t, void* out) {
  const std::string_view path = info->dlpi_name;
  const std::size_t slash = path.rfind('/');
  if (!path.substr(slash == std::string_view::npos ? 0 : slash + 1).starts_with("libnccl.so")) {
    return 0;
  }
  *static_cast<Library*>(out) = {info->dlpi_name, info->dlpi_addr};
  return 1;
}

__attribute__((constructor)) void hook_nccl() {
  Library library;
  if (dl_iterate_phdr(find_nccl, &library) == 0) {
    // Not linked (a program that opens NCCL later, as Python does): load it now, if its path is given.
    const char* path = std::getenv("FAKECUDA_NCCL");
    if (path == nullptr || *path == '\0') {
      return;
    }
    if (dlopen(path, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      die("{}", dlerror());
    }
    if (dl_iterate_phdr(find_nccl, &library) == 0) {
      die("libnccl was not found after loading {}", path);
    }
  }
  hook_library(library.path.c_str(), library.base);
}

}  // namespace
}  // namespace fakecuda
