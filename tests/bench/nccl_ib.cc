// NCCL's own InfiniBand network as a plugin, so that bench_message can drive it as it drives ours: the table
// lies in libnccl.so.2, whose symbol table still names it (`ncclNetIb`; of NCCL 2.28.9, table v11). Which
// file that is, NCCL_IB_BENCH_LIBRARY says. A benchmark's part, not for anything else.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "plugin/abi/net_v11.h"

// Filled before it can be looked up.
extern "C" __attribute__((visibility("default"))) tfabric::abi::NetV11 ncclNetPlugin_v11;
tfabric::abi::NetV11 ncclNetPlugin_v11{};

namespace {

constexpr const char* kSymbol = "ncclNetIb";

template <class Element>
std::vector<Element> read_array(std::ifstream& file, std::uint64_t offset, std::uint64_t bytes) {
  std::vector<Element> all(bytes / sizeof(Element));
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(all.data()), static_cast<std::streamsize>(all.size() * sizeof(Element)));
  return all;
}

// Where the symbol lies, from the library's beginning.
std::optional<std::uint64_t> find_symbol(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const auto headers = read_array<Elf64_Ehdr>(file, 0, sizeof(Elf64_Ehdr));
  const auto sections = read_array<Elf64_Shdr>(file, headers[0].e_shoff,
                                               std::uint64_t{headers[0].e_shnum} * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB) {
      continue;
    }
    const auto symbols = read_array<Elf64_Sym>(file, section.sh_offset, section.sh_size);
    const Elf64_Shdr& names_of = sections[section.sh_link];
    const auto names = read_array<char>(file, names_of.sh_offset, names_of.sh_size);
    const auto found = std::find_if(symbols.begin(), symbols.end(), [&](const Elf64_Sym& symbol) {
      return std::strcmp(names.data() + symbol.st_name, kSymbol) == 0 &&
             symbol.st_size == sizeof(tfabric::abi::NetV11);
    });
    if (found != symbols.end()) {
      return found->st_value;
    }
  }
  return std::nullopt;
}

__attribute__((constructor)) void fill() {
  const char* path = std::getenv("NCCL_IB_BENCH_LIBRARY");
  void* library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const auto offset = library == nullptr ? std::nullopt : find_symbol(path);
  link_map* map = nullptr;
  if (!offset || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) {
    std::fprintf(stderr, "NCCL_IB_BENCH_LIBRARY names no libnccl.so.2 of NCCL 2.28 with its symbol table\n");
    std::exit(1);
  }
  std::memcpy(&ncclNetPlugin_v11, reinterpret_cast<const void*>(map->l_addr + *offset),
              sizeof(ncclNetPlugin_v11));
}

}  // namespace
