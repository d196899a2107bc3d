// A connection between two endpoints in a test. The test decides when bytes pass; one thread, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "transport/rdma/session/socket.h"

namespace tfabric::rdma::session {

// One direction.
struct FakePipe {
  std::size_t piece = SIZE_MAX;       // most bytes of one read or write; then one "not now"
  std::size_t pause_at = SIZE_MAX;    // a write ends here once; the next returns "not now"
  std::size_t stalled_at = SIZE_MAX;  // bytes beyond are accepted, but never arrive
  std::size_t cut_at = SIZE_MAX;      // here the connection is lost
  bool connecting = false;            // every write returns "not now"
  int refused = 0;                    // errno of all writes

  // What was done.
  std::deque<std::byte> bytes;  // written, but not read yet
  std::size_t written = 0;
  bool rests = false;  // the next write returns "not now"
  bool reading_rests = false;
  bool closed = false;  // by the writer
};

struct FakeWire {
  FakePipe to_acceptor;
  FakePipe to_connector;
  [[nodiscard]] bool cut() const {
    return to_acceptor.written >= to_acceptor.cut_at || to_connector.written >= to_connector.cut_at;
  }
};

class FakeStream final : public Stream {
 public:
  FakeStream(std::shared_ptr<FakeWire> wire, bool connector)
      : wire_(std::move(wire)),
        in_(connector ? &wire_->to_connector : &wire_->to_acceptor),
        out_(connector ? &wire_->to_acceptor : &wire_->to_connector) {}
  ~FakeStream() override { out_->closed = true; }

  Transfer read(std::span<std::byte> bytes) override;
  Transfer write(std::span<const std::byte> bytes) override;

 private:
  std::shared_ptr<FakeWire> wire_;
  FakePipe* in_;
  FakePipe* out_;
};

// A stream that delivers these bytes, and then stays open or is closed.
[[nodiscard]] std::unique_ptr<Stream> stream_with(const std::vector<std::byte>& bytes, bool stays,
                                                  std::shared_ptr<FakeWire>* wire = nullptr);

}  // namespace tfabric::rdma::session
