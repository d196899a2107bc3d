// _dl_find_object(), which glibc has from 2.35 on: the loaded object at an address, with which libgcc's
// unwinder finds the table that an exception needs.
#include <dlfcn.h>
#include <link.h>

#include <cstdint>

namespace {

struct Search {
  std::uintptr_t address = 0;
  dl_find_object* result = nullptr;
};

void* pointer_to(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// Called by the loader for each object. Returns 1, which ends the search, for the one at the address.
int look(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  const Search& search = *static_cast<const Search*>(data);
  std::uintptr_t begin = UINTPTR_MAX, end = 0, frames = 0;
  bool found = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const std::uintptr_t at = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD) {
      found = found || search.address - at < header.p_memsz;
      begin = at < begin ? at : begin;
      end = at + header.p_memsz > end ? at + header.p_memsz : end;
    } else if (header.p_type == PT_GNU_EH_FRAME) {
      frames = at;
    }
  }
  if (!found || frames == 0) {
    return 0;
  }
  *search.result = {};
  search.result->dlfo_map_start = pointer_to(begin);
  search.result->dlfo_map_end = pointer_to(end);
  search.result->dlfo_eh_frame = pointer_to(frames);
  return 1;
}

}  // namespace

// The link map stays null: the unwinder does not read it. Older unwinders called dl_iterate_phdr() as well.
extern "C" __attribute__((visibility("hidden"))) int _dl_find_object(void* address,
                                                                     dl_find_object* result) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(address), result};
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
