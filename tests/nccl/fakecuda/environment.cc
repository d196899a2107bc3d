#include "tests/nccl/fakecuda/environment.h"

#include <cstdlib>

namespace fakecuda {

int env_int(const char* name, int fallback) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? static_cast<int>(std::strtol(text, nullptr, 0)) : fallback;
}

}  // namespace fakecuda
