#include "plugin/shims_v4.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <thread>

#include "base/log.h"
#include "base/time.h"
#include "plugin/abi/net_v4.h"
#include "plugin/adapter.h"
#include "transport/handle_envelope.h"

namespace tfabric::plugin::shims {
namespace {

using transport::kHandleBytes;
using transport::kShortHandleBytes;
static_assert(kShortHandleBytes == abi::kHandleBytesV4);

// Between two looks at a connection that takes a round trip or two. Other threads of the process may need the
// processor to make it.
constexpr std::chrono::microseconds kBetweenLooks{20};
// Long for ranks that start together.
constexpr std::chrono::seconds kLongWait{30};

// All messages of a comm have the same tag.
constexpr int kTag = 0;

// Calls until there is a comm, or an error. `what` is said where that takes long.
template <class Call>
abi::Result wait_for_comm(const char* what, void** comm, Call call) {
  Instant reported = monotonic_now();
  const Instant begin = reported;
  for (;;) {
    if (const abi::Result result = call(); result != abi::Result::success || *comm != nullptr) {
      return result;
    }
    const Instant now = monotonic_now();
    if (now - reported >= kLongWait) {
      reported = now;
      TF_WARN("NET/tfabric: {} for {} s", what,
              std::chrono::duration_cast<std::chrono::seconds>(now - begin).count());
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace

abi::Result listen_short(int dev, void* handle, void** listener) {
  std::array<std::byte, kHandleBytes> whole{};
  const abi::Result result =
      plugin::listen(dev, handle == nullptr ? nullptr : whole.data(), {.short_handle = true}, listener);
  if (result == abi::Result::success) {
    transport::shorten_handle(
        whole, std::span<std::byte, kShortHandleBytes>(static_cast<std::byte*>(handle), kShortHandleBytes));
  }
  return result;
}

abi::Result connect_and_wait(int dev, void* handle, void** comm) {
  if (handle == nullptr || comm == nullptr) {
    return plugin::connect(dev, handle, transport::ConnectOptions(), comm);  // says which
  }
  std::array<std::byte, kHandleBytes> whole{};
  transport::lengthen_handle(
      std::span<const std::byte, kShortHandleBytes>(static_cast<const std::byte*>(handle), kShortHandleBytes),
      whole);
  return wait_for_comm("connect has waited for its peer's answer", comm,
                       [&] { return plugin::connect(dev, whole.data(), transport::ConnectOptions(), comm); });
}

abi::Result accept_and_wait(void* listener, void** comm) {
  return wait_for_comm("accept has waited for a peer to connect", comm,
                       [&] { return plugin::accept(listener, comm); });
}

// A negative size becomes larger than any object, which the adapter refuses.
abi::Result isend(void* comm, void* data, int size, void* memory, void** request) {
  return plugin::isend(comm, data, static_cast<std::size_t>(size), kTag, memory, request);
}

abi::Result irecv(void* comm, void* data, int size, void* memory, void** request) {
  return plugin::irecv<int>(comm, 1, &data, &size, &kTag, &memory, request);
}

abi::Result iflush(void* comm, void* data, int size, void* memory, void** request) {
  return plugin::iflush(comm, 1, &data, &size, &memory, request);
}

}  // namespace tfabric::plugin::shims
