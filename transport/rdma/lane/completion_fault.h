// What a failed work completion means, for people.
#pragma once

#include <string>
#include <string_view>

#include "transport/rdma/verbs/queue_abi.h"

namespace tfabric::rdma {

// "RETRY_EXC_ERR", without the header's prefix IBV_WC_.
[[nodiscard]] std::string_view to_string(ibv::WcStatus status);
// What it usually means and what to check.
[[nodiscard]] std::string_view meaning_of(ibv::WcStatus status);

// One line about a failed completion on the queue pair that `queue_pair` describes.
[[nodiscard]] std::string completion_fault(const ibv::Wc& completion, std::string_view queue_pair);

}  // namespace tfabric::rdma
