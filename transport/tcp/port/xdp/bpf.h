// bpf(2), for which glibc has no function.
#pragma once

#include <linux/bpf.h>

#include <string>

#include "base/result.h"

namespace tfabric::port::xdp {

// What the kernel returns, a descriptor or 0; or -errno.
[[nodiscard]] int bpf(bpf_cmd command, bpf_attr& attributes);

// An errno of AF_XDP's or bpf(2)'s as an Error: what was tried, and what is missing for it. Errc::unusable.
[[nodiscard]] Error refusal(const std::string& what, int error);

}  // namespace tfabric::port::xdp
