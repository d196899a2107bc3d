#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "base/time.h"
#include "tools/check/peer/peer.h"

namespace tfabric::check {
namespace {

constexpr std::size_t kSmall = 64;
constexpr std::size_t kLarge = 128u << 10;  // several packets of any MTU
// Longer than a connection's own time-out, and than the stack takes to find a black hole.
constexpr auto kPatience = std::chrono::seconds(12);
constexpr auto kControlPatience = std::chrono::seconds(60);

// Calls `step` until it returns true or an error, or the time is over.
template <class Step>
Status until(const Step& step) {
  const Instant end = monotonic_now() + kPatience;
  for (;;) {
    const Result<bool> done = step();
    if (!done) {
      return done.error();
    }
    if (*done) {
      return {};
    }
    if (monotonic_now() > end) {
      return Error{Errc::remote, fmt::format("not done after {} s", kPatience.count())};
    }
    std::this_thread::yield();
  }
}

class Sender {
 public:
  explicit Sender(transport::Device& device) : device_(device) {}

  Outcome run(TrialHandle handle) {
    Outcome outcome;
    const Status connected = until([&]() -> Result<bool> {
      auto comm = device_.connect(handle, {});
      if (!comm) {
        return comm.error();
      }
      comm_ = std::move(*comm);
      return comm_ != nullptr;
    });
    if (!advance(connected, Stage::small_message, outcome)) {
      return outcome;
    }
    const Status small = send(kSmall, outcome.small);
    if (!advance(small, Stage::large_message, outcome)) {
      return outcome;
    }
    const Status large = send(kLarge, outcome.large);
    static_cast<void>(advance(large, Stage::done, outcome));
    return outcome;
  }

 private:
  static bool advance(const Status& status, Stage next, Outcome& outcome) {
    if (!status) {
      outcome.error = status.error().message;
      return false;
    }
    outcome.stage = next;
    return true;
  }

  Status send(std::size_t size, std::chrono::milliseconds& took) {
    const auto region = comm_->register_memory(data_.data(), data_.size(), transport::MemoryKind::host);
    if (!region) {
      return region.error();
    }
    transport::Request* request = nullptr;
    const Instant begin = monotonic_now();
    const Status sent = until([&]() -> Result<bool> {
      if (request == nullptr) {
        const auto posted = comm_->isend(data_.data(), size, 0, *region);
        if (!posted) {
          return posted.error();
        }
        request = *posted;
        return false;
      }
      return request->test(nullptr);
    });
    took = std::chrono::duration_cast<std::chrono::milliseconds>(monotonic_now() - begin);
    const Status deregistered = comm_->deregister_memory(*region);
    return sent ? deregistered : sent;
  }

  transport::Device& device_;
  std::vector<std::byte> data_ = std::vector<std::byte>(kLarge);
  std::unique_ptr<transport::SendComm> comm_;
};

// Receives messages until the sender reports the outcome, however far it comes.
class Receiver {
 public:
  Receiver(control::Channel& control, transport::Listener& listener)
      : control_(control), listener_(listener) {}
  ~Receiver() {
    if (region_ != nullptr) {
      static_cast<void>(comm_->deregister_memory(region_));
    }
  }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  Result<Outcome> run() {
    const Instant end = monotonic_now() + kControlPatience;
    while (monotonic_now() < end) {
      auto message = control_.try_receive();
      if (!message) {
        return message.error();
      }
      if (*message) {
        return outcome_from(**message);
      }
      // The sender sees the same failure, and reports it.
      broken_ = broken_ || !turn();
      std::this_thread::yield();
    }
    return Error{Errc::remote, control_.peer() + " has not said how it went"};
  }

 private:
  Status turn() {
    if (broken_) {
      return {};
    }
    if (comm_ == nullptr) {
      auto comm = listener_.accept();
      if (!comm) {
        return comm.error();
      }
      comm_ = std::move(*comm);
      return {};
    }
    return receive();
  }

  Status receive() {
    if (region_ == nullptr) {
      const auto region = comm_->register_memory(data_.data(), data_.size(), transport::MemoryKind::host);
      if (!region) {
        return region.error();
      }
      region_ = *region;
    }
    if (request_ == nullptr) {
      const transport::ReceiveBuffer buffer{
          .data = data_.data(), .size = data_.size(), .tag = 0, .region = region_};
      const auto posted = comm_->irecv({&buffer, 1});
      if (!posted) {
        return posted.error();
      }
      request_ = *posted;
      return {};
    }
    int size = 0;
    const auto done = request_->test(&size);
    if (!done) {
      return done.error();
    }
    if (*done) {
      request_ = nullptr;
    }
    return {};
  }

  control::Channel& control_;
  transport::Listener& listener_;
  std::vector<std::byte> data_ = std::vector<std::byte>(kLarge);
  std::unique_ptr<transport::RecvComm> comm_;
  transport::MemoryRegion* region_ = nullptr;
  transport::Request* request_ = nullptr;
  bool broken_ = false;
};

}  // namespace

Result<Outcome> try_sending(control::Channel& control, transport::Device& device) {
  const auto message = control.receive(kControlPatience, "where it listens");
  if (!message) {
    return message.error();
  }
  const Result<TrialHandle> handle = handle_from(*message);
  if (!handle) {
    return handle.error();
  }
  const Outcome outcome = Sender(device).run(*handle);
  if (Status sent = control.send(to_json(outcome)); !sent) {
    return sent.error();
  }
  return outcome;
}

Result<Outcome> try_receiving(control::Channel& control, transport::Device& device) {
  TrialHandle handle{};
  const auto listener = device.listen(handle, {});
  if (!listener) {
    return listener.error();
  }
  if (Status sent = control.send(to_json(handle)); !sent) {
    return sent.error();
  }
  return Receiver(control, **listener).run();
}

}  // namespace tfabric::check
