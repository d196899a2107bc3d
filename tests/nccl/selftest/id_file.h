// How the ranks find each other: rank 0 writes NCCL's unique id to a file, the others wait for it.
#pragma once

#include <nccl.h>

#include <string>

namespace selftest {

ncclUniqueId publish_id(const std::string& path);
ncclUniqueId await_id(const std::string& path);

}  // namespace selftest
