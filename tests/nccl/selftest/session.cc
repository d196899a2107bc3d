#include "tests/nccl/selftest/session.h"

#include <fmt/format.h>

#include <thread>

#include "tests/nccl/selftest/id_file.h"

namespace selftest {

Session::Session(const Options& options)
    : options_(options),
      input_(options.max_bytes),
      output_(options.max_bytes * static_cast<std::size_t>(options.ranks)) {
  const ncclUniqueId id = rank() == 0 ? publish_id(options.id_file) : await_id(options.id_file);
  check(ncclCommInitRank(&comm_, ranks(), id, rank()));
  if (options.register_buffers) {
    check(ncclCommRegister(comm_, input_.at(), input_.size(), &input_registration_));
    check(ncclCommRegister(comm_, output_.at(), output_.size(), &output_registration_));
  }
}

void Session::close() {
  if (options_.register_buffers) {
    check(ncclCommDeregister(comm_, input_registration_));
    check(ncclCommDeregister(comm_, output_registration_));
  }
  check(ncclCommFinalize(comm_));
  check(ncclCommDestroy(comm_));
}

void Session::wait(std::string_view operation) {
  constexpr auto kPause = std::chrono::microseconds(20);
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const cudaError_t state = cudaStreamQuery(stream_);
    if (state == cudaSuccess) {
      return;
    }
    if (state != cudaErrorNotReady) {
      check(state);
    }
    ncclResult_t error = ncclSuccess;
    check(ncclCommGetAsyncError(comm_, &error));
    if (error != ncclSuccess && error != ncclInProgress) {
      abort(kAsynchronousError, operation, ncclGetErrorString(error));
    }
    if (options_.stall_limit.count() > 0 && std::chrono::steady_clock::now() - begin > options_.stall_limit) {
      abort(kStalled, operation, fmt::format("not done after {} s", options_.stall_limit.count()));
    }
    std::this_thread::sleep_for(kPause);
  }
}

void Session::abort(ExitCode code, std::string_view operation, std::string_view why) {
  fmt::print(stderr, "rank {}: {}: {}; aborting\n", rank(), operation, why);
  check(ncclCommAbort(comm_));
  check(cudaStreamSynchronize(stream_));
  throw Failure(code, "aborted cleanly");
}

}  // namespace selftest
