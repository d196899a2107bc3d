// A comm between two simulated hosts and the messages that a job sends over it, as NCCL would: several at a
// time, each into a receive that is posted early or late.
//
// Checked: each message arrives once, in its order and whole; a buffer that a request gives back is neither
// read nor written any more, for which it is overwritten at once and looked at again in the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/simulation/rails/host.h"
#include "transport/comm/send_comm.h"

namespace tfabric::simulation::rails {

struct JobOptions {
  std::size_t from = 0, to = 1;         // hosts
  std::vector<std::uint32_t> messages;  // bytes of each
  std::size_t depth = 8;                // most that are outstanding at each end
  Duration latest{};                    // how much later than it could be a receive is posted, at most
  Duration pause{};                     // the longest between two sends
  std::uint64_t seed = 0;
  std::vector<session::RailRole> roles;  // of the rails, the same at both ends
  flows::FlowChoice lanes;               // of each route
  bool keep = true;                      // buffers that were given back, to look at them in the end
};

class Job {
 public:
  Job(const JobOptions& options, Host& from, Host& to);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Messages are sent from now on.
  void start() { started_ = true; }
  // What the job's process does at one end while its host runs; returns when it wants to be called again.
  Instant step_sender();
  Instant step_receiver();
  [[nodiscard]] std::size_t sends_from() const { return options_.from; }
  [[nodiscard]] bool opened() const { return receive_ != nullptr && send_->welcomed(); }
  // Both ends have all messages.
  [[nodiscard]] bool done() const { return sent_ == options_.messages.size() && received_ == sent_; }
  // Nothing more can happen: it is done, or both ends have failed.
  [[nodiscard]] bool over() const;
  // The first thing that is not as it must be; none if all is well.
  [[nodiscard]] const std::optional<std::string>& fault() const { return fault_; }
  // The error of an end, if it has failed.
  [[nodiscard]] std::optional<std::string> error() const;
  // Looks once more at what was given back. Call it when the comms no longer exist.
  void look_at_buffers();
  void close();

  [[nodiscard]] const comm::SendComm& sender() const { return *send_; }
  [[nodiscard]] std::size_t received() const { return received_; }
  [[nodiscard]] std::uint64_t received_bytes() const { return received_bytes_; }
  // When the last receive ended, and the longest time between two.
  [[nodiscard]] Instant last_receive() const { return last_receive_; }
  [[nodiscard]] Duration longest_stall() const { return longest_stall_; }
  void forget_stalls() { longest_stall_ = {}; }

 private:
  struct Buffer {
    std::vector<std::byte> bytes;
    transport::Request* request = nullptr;
    bool returned = false;
  };
  void fail(std::string what);
  void give_back(Buffer& buffer);
  void open(Host& from, Host& to);
  void post_send();
  void post_receive();
  void check(std::size_t message, int size);
  // Returns true if the request has ended, well.
  bool ended(Buffer& buffer, int* size);
  [[nodiscard]] std::vector<std::byte> content(std::size_t message) const;

  JobOptions options_;
  Host* to_;
  SeededRandom random_;
  std::unique_ptr<comm::SendComm> send_;
  std::unique_ptr<comm::RecvComm> receive_;
  std::deque<Buffer> sends_, receives_;  // by message
  std::size_t sent_ = 0, received_ = 0;
  std::uint64_t received_bytes_ = 0;
  Instant next_send_{}, next_post_{};
  bool started_ = false, failed_send_ = false, failed_receive_ = false;
  Instant last_receive_{};
  Duration longest_stall_{};
  std::optional<std::string> fault_;
};

}  // namespace tfabric::simulation::rails
