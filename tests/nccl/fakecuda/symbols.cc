#include "tests/nccl/fakecuda/symbols.h"

#include <map>

namespace fakecuda {
namespace {

std::map<std::uintptr_t, std::string>& kernels() {
  static auto* instance = new std::map<std::uintptr_t, std::string>;
  return *instance;
}

std::map<std::string, std::span<const std::byte>>& objects() {
  static auto* instance = new std::map<std::string, std::span<const std::byte>>;
  return *instance;
}

}  // namespace

std::string symbol_name(const void* address) {
  const auto found = kernels().find(reinterpret_cast<std::uintptr_t>(address));
  if (found == kernels().end()) {
    return "?";
  }
  const std::string& name = found->second;
  const std::size_t begin = name.find("nccl");
  if (begin == std::string::npos) {
    return name;
  }
  // What follows is the mangled argument, whose type's name has 24 characters.
  const std::size_t end = name.find("24nccl", begin);
  return name.substr(begin, end == std::string::npos ? end : end - begin);
}

std::span<const std::byte> symbol_data(const std::string& name) {
  const auto found = objects().find(name);
  return found == objects().end() ? std::span<const std::byte>() : found->second;
}

void add_kernel(std::uintptr_t address, std::string name) { kernels()[address] = std::move(name); }

void add_data(std::string name, std::span<const std::byte> data) { objects()[std::move(name)] = data; }

}  // namespace fakecuda
