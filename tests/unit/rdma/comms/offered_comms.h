// A send comm and its receive comm in virtual time: queue pairs over some ports of a made-up provider, and
// beside them a lane of the kernel's kind, over which they are offered.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/gpu_pages.h"
#include "tests/unit/comm/fabric.h"
#include "tests/unit/rdma/pairs/made_up_verbs.h"
#include "tests/unit/rdma/pairs/one_way.h"
#include "transport/rdma/pairs/port_group.h"

namespace tfabric::rdma::pairs::test {

using rdma::test::MadeUpVerbs;

// Jobs of an adapter that take half a millisecond each.
class LateControl final : public Control {
 public:
  void run(std::function<int()> job, std::function<void(int)> done) override;
  void take_results() override TF_IN_TURN;

 private:
  struct Job {
    Instant at;
    std::function<int()> job;
    std::function<void(int)> done;
  };
  std::deque<Job> jobs_;
};

class OfferedComms {
 public:
  struct Options {
    std::array<std::size_t, 2> ports{2, 2};
    std::array<std::size_t, 2> reserves{};  // further ports, which stand in for those
    std::uint64_t seed = 1;
    std::uint8_t max_recvs = 1;
    bool takes_gpu_memory = false;       // and messages are in such memory
    std::uint32_t largest_write = 8192;  // bytes of a work request
    std::size_t wires = 1;               // lanes of the kernel's kind, of which the first is always there
    std::size_t tcp = 0;                 // rails of our own TCP in reserve: the cables behind those
    // One way, of those of the kernel's kind, and of our own.
    Duration kernel_delay = std::chrono::microseconds(20), tcp_delay = std::chrono::microseconds(20);
    bool offers = true;       // the sender's process has such rails
    bool offers_back = true;  // and the receiver's
    LinkLayer receiver_link = LinkLayer::ethernet;
  };
  struct Message {
    std::vector<std::byte> text;
    std::byte *from = nullptr, *to = nullptr;  // as NCCL knows them
    std::size_t room = 0;
    int tag = 0;
    transport::Request *out = nullptr, *in = nullptr;
    bool is_sent = false, has_come = false;
  };

  explicit OfferedComms(const Options& options);
  ~OfferedComms();
  OfferedComms(const OfferedComms&) = delete;
  OfferedComms& operator=(const OfferedComms&) = delete;

  // Returns false if NCCL cannot have the comms within so much virtual time.
  bool open(Duration within = std::chrono::seconds(20));
  // Posts the receives of a group, and sends to each.
  void exchange(const std::vector<std::size_t>& sizes);
  void post(const std::vector<std::size_t>& sizes);
  // The message of this number, of those that are not finished.
  void send(std::size_t number) { send(messages_[number]); }
  // Returns false if its send is not done within so much virtual time.
  bool is_sent(std::size_t number, Duration within);
  // Returns false if some are not done at both ends within so much virtual time.
  bool finish(Duration within = std::chrono::seconds(10));
  // Flushes the memory of receives, several times at once. Returns false if there is nothing to flush; throws
  // the comm's error.
  bool flush(int times = 1);
  // The lanes of pairs that carry, at the sender's end: of its own ports, or of those in reserve.
  [[nodiscard]] std::size_t pairs(bool in_reserve = false);
  // The lanes over rails of our own TCP.
  [[nodiscard]] std::size_t tcp_lanes();
  // No memory of messages can be registered with a port any more.
  void refuse_memory(std::size_t host, std::size_t port);
  // How many pieces of memory are registered with a port.
  [[nodiscard]] std::size_t regions(std::size_t host, std::size_t port) const {
    return ports_[host][port]->registrations->regions();
  }
  // Registers the memory of receives once more, and no more the old registration.
  void register_anew();
  void close_sender();
  // Deregisters the memory of receives.
  void fail_receiver();
  void silence(std::size_t host, std::size_t port, Duration time) {
    verbs.silence(*ports_[host][port]->context, comm::test::Fabric::now() + time);
  }
  // What TFABRIC_FAULT says of one port, at its end, or of all, as in "loss=1%".
  void rehearse(std::size_t host, std::size_t port, const std::string& fault, Duration time);
  // Bytes of messages that a port has sent.
  [[nodiscard]] std::uint64_t sent(std::size_t host, std::size_t port);
  // The port has no address any more, so that nothing passes, or has it again, at this index of its GIDs: its
  // process learns of that.
  void take_address(std::size_t host, std::size_t port);
  void give_address(std::size_t host, std::size_t port, std::uint8_t index);
  // The device dies, and its process learns of it.
  void kill(std::size_t host, std::size_t port);

  [[nodiscard]] bool is_idle() const { return messages_.empty(); }

  MadeUpVerbs verbs;

 private:
  struct Port {
    ibv_context* context = nullptr;
    ibv_pd pd{};
    std::unique_ptr<rdma::test::OneWay> way;
    std::unique_ptr<RegistrationCache> registrations;
    PortCarrier* carrier = nullptr;
    std::shared_ptr<engine::Rehearsal> rehearsal;
  };
  static constexpr std::size_t kMemory = 8u << 20;

  void add_port(std::size_t host, const Options& options, bool in_reserve);
  void send(Message& message);
  bool test(Message& message);
  // Where the test reaches NCCL's memory, which may be a GPU's.
  [[nodiscard]] std::byte* seen(const std::byte* at) const;
  [[nodiscard]] const Message* owner_of(std::uint64_t address, bool receives) const;

  Options options_;
  std::array<std::unique_ptr<PortGroup>, 2> groups_;
  std::array<std::vector<std::unique_ptr<Port>>, 2> ports_;
  tfabric::test::GpuPages from_{kMemory}, to_{kMemory};
  std::size_t used_ = 0;
  std::deque<Message> messages_;
  tfabric::session::Token token_{};

 public:
  comm::test::Fabric fabric;
  std::unique_ptr<comm::SendComm> sender;
  std::unique_ptr<comm::RecvComm> receiver;

 private:
  transport::MemoryRegion *from_region_ = nullptr, *to_region_ = nullptr;
};

}  // namespace tfabric::rdma::pairs::test
