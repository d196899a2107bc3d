// The switches of docs/testing-with-nccl.md, all of them numbers.
#pragma once

namespace fakecuda {

// `fallback` if the variable is not set or empty.
int env_int(const char* name, int fallback);

}  // namespace fakecuda
