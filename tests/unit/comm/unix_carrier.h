// A further kind of lanes, to show what one takes: Unix sockets in a folder, where a port is the name of a
// socket.
//
// Three files (this one, its source and its test) and a line for the build. All else, from records to burial,
// is there.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "transport/engine/engine.h"
#include "transport/lane/stream_carrier.h"

namespace tfabric::comm::test {

class UnixCarrier;

class UnixFlow final : public engine::Flow, public engine::ByteStream {
 public:
  UnixFlow(UnixCarrier& carrier, Descriptor socket, std::uint64_t number);

  // --- engine::Flow
  [[nodiscard]] std::string describe() const override { return "unix " + std::to_string(number_); }
  [[nodiscard]] net::IpAddress remote() const override { return {}; }
  void wake() override {}  // each turn looks at all flows
  void close() override;
  void abort(std::string_view reason) override;
  bool on_report(std::uint64_t position) override;
  bool send_report(std::span<const std::byte> record) override;
  [[nodiscard]] bool is_connecting() const override { return false; }

  // --- engine::ByteStream
  [[nodiscard]] std::span<const std::byte> readable() const override { return {}; }
  void consume(std::uint32_t) override {}
  [[nodiscard]] bool received_all() const override { return finished_; }
  [[nodiscard]] bool peer_finished() const override { return finished_; }
  bool send(const engine::Payload& range) override;
  bool send_inline(std::span<const std::byte> bytes) override;
  [[nodiscard]] std::uint64_t stream_written() const override { return written_; }
  [[nodiscard]] std::uint64_t stream_acked() const override { return confirmed_; }
  [[nodiscard]] bool awaits_peer() const override { return confirmed_ < owed_; }
  [[nodiscard]] std::uint32_t send_room() const override;
  [[nodiscard]] bool can_send_ranges(std::uint32_t n) const override { return queue_.size() + n <= 1024; }
  [[nodiscard]] Instant progressed_at() const override { return progressed_at_; }
  void retry_at_once(Instant) override {}
  [[nodiscard]] std::uint32_t timeouts_in_row() const override { return 0; }
  [[nodiscard]] Instant silent_since() const override { return {}; }
  [[nodiscard]] const std::string& reset_reason() const override { return no_reason_; }
  [[nodiscard]] engine::ConnectionInfo info() const override;

 private:
  friend class UnixCarrier;

  struct Range {
    const std::byte* data = nullptr;  // null: the copy has the bytes
    std::size_t size = 0;
    std::vector<std::byte> copy;
  };

  void read(Instant now);
  void write();
  void fail();

  Descriptor socket_;
  std::uint64_t number_;
  std::deque<Range> queue_;
  std::size_t begun_ = 0;  // bytes of the first range that are written
  std::uint64_t written_ = 0, confirmed_ = 0, owed_ = 0, received_ = 0;
  Instant progressed_at_{};
  bool closing_ = false, finished_ = false, over_ = false;
  std::string no_reason_;
};

class UnixCarrier final : public lane::StreamCarrier, public engine::Polled {
 public:
  // Listens at this port of the folder.
  UnixCarrier(engine::Engine& engine, std::string folder, std::uint16_t port);

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] bool has_family_of(const net::IpAddress&) const override { return true; }
  engine::Flow* connect(const net::IpAddress& remote, std::uint16_t port, engine::FlowHandler* handler,
                        std::size_t index) override;
  [[nodiscard]] std::optional<Instant> away_since() const override { return std::nullopt; }
  [[nodiscard]] bool has_ended(Instant) const override { return false; }
  [[nodiscard]] std::string why_away(Instant) const override { return {}; }
  [[nodiscard]] std::uint64_t absences() const override { return 0; }

  bool receive(Instant now) override;
  bool send(Instant now, bool quiet) override;
  void on_time(Instant) override {}
  [[nodiscard]] std::size_t carriers() const override { return 1; }
  [[nodiscard]] engine::Carrier& carrier_at(std::size_t) override { return *this; }
  [[nodiscard]] std::size_t flows() const override { return flows_.size(); }
  [[nodiscard]] engine::Flow& flow_at(std::size_t place) const override { return *flows_[place]; }
  [[nodiscard]] bool owes_peers() const override { return false; }
  void halt() override { flows_.clear(); }

  // What a test does to the connections: the kernel ends them.
  void cut();

 private:
  UnixFlow& add(Descriptor socket);

  engine::Engine* engine_;
  std::string folder_;
  std::string name_ = "unix";
  Descriptor listening_;
  std::vector<std::unique_ptr<UnixFlow>> flows_;
  std::uint64_t last_number_ = 0;
};

}  // namespace tfabric::comm::test
