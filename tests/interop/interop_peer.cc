// Our end of an interop stream: a byte stream over the engine, on a TAP or AF_PACKET rail, against any
// TCP. No message protocol.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "base/log.h"
#include "tests/interop/stream_pattern.h"
#include "transport/tcp/engine/engine.h"
#include "transport/tcp/nic_rail.h"
#include "transport/tcp/port/eal.h"

using namespace tfabric;
using namespace tfabric::interop;

namespace {

// Sends or checks the stream, then closes.
class Stream final : public engine::FlowHandler, public engine::Acceptor {
 public:
  Stream(engine::Engine& engine, std::uint64_t bytes, bool send)
      : engine_(&engine), bytes_(bytes), send_(send), buffer_(1 << 20) {}

  bool on_connection(engine::Flow& flow) override {
    flow.set_handler(this, 0);
    return true;
  }

  std::size_t on_data(engine::Flow& /*flow*/, std::span<const std::byte> bytes) override {
    if (send_) {
      wrong_ += bytes.size();
      return bytes.size();
    }
    wrong_ += count_wrong(bytes.data(), bytes.size(), done_);
    done_ += bytes.size();
    return bytes.size();
  }

  void on_progress(engine::Flow& flow) override {
    if (send_) {
      fill(flow);
    }
    if (done_ >= bytes_ && flow.connection().stream_acked() == flow.connection().stream_written()) {
      print(flow);
      engine_->close(flow);
      finished_ = true;
    }
  }

  void on_failed(engine::Flow& flow, stack::ConnectionError error) override {
    std::fprintf(stderr, "our peer: %s failed: %s\n", flow.describe().c_str(), stack::to_string(error));
    failed_ = true;
  }

  [[nodiscard]] bool finished() const { return finished_ || failed_; }
  [[nodiscard]] bool good() const { return finished_ && !failed_ && wrong_ == 0 && done_ == bytes_; }
  [[nodiscard]] std::uint64_t done() const { return done_; }
  [[nodiscard]] std::uint64_t wrong() const { return wrong_; }

 private:
  // The stream's bytes must stay until acknowledged: half of the buffer is filled when the other half is.
  void fill(engine::Flow& flow) {
    stack::Connection& connection = flow.connection();
    const std::uint64_t half = buffer_.size() / 2;
    while (connection.established() && done_ < bytes_ && done_ - connection.stream_acked() <= half) {
      const std::size_t n = std::min<std::uint64_t>(half, bytes_ - done_);
      std::byte* at = buffer_.data() + (done_ / half % 2) * half;
      fill_pattern(at, n, done_);
      if (!connection.send({at, static_cast<std::uint32_t>(n), nullptr})) {
        return;
      }
      done_ += n;
    }
  }

  void print(engine::Flow& flow) const {
    const stack::ConnectionInfo info = flow.connection().info();
    std::printf(
        "our peer: %llu bytes %s, %llu wrong; retransmitted %llu, fast retransmits %u, time-outs %u, srtt "
        "%lld us\n",
        static_cast<unsigned long long>(done_), send_ ? "sent" : "received",
        static_cast<unsigned long long>(wrong_), static_cast<unsigned long long>(info.bytes_retransmitted),
        info.fast_retransmits, info.timeouts,
        static_cast<long long>(std::chrono::duration_cast<std::chrono::microseconds>(info.srtt).count()));
  }

  engine::Engine* engine_;
  std::uint64_t bytes_;
  bool send_;
  std::vector<std::byte> buffer_;
  std::uint64_t done_ = 0;
  std::uint64_t wrong_ = 0;
  bool finished_ = false;
  bool failed_ = false;
};

void log_to_stderr(log::Level level, log::Subsystem, const char*, int, std::string_view text) {
  if (level != log::Level::trace) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  }
}

struct Arguments {
  std::string kind = "af_packet", device, address, connect_to;
  std::uint16_t port = 5001;
  std::uint64_t bytes = 0;
  bool send = false;
  double timeout_s = 120;
};

int run(const Arguments& arguments) {
  if (Status status = port::start_eal({}); !status) {
    std::fprintf(stderr, "our peer: %s\n", status.error().message.c_str());
    return 1;
  }
  engine::EngineOptions options;
  options.port = arguments.port;
  // Toward a stranger: Linux delays ACKs by up to 40 ms.
  options.tcp.min_rto = std::chrono::milliseconds(200);
  engine::Engine engine(options);
  config::Rail rail{.name = "interop", .device = arguments.device, .addresses = {arguments.address}};
  rail.kind = arguments.kind == "tap" ? config::RailKind::tap : config::RailKind::af_packet;
  auto opened = tcp::open_rail(rail, engine);
  if (!opened) {
    std::fprintf(stderr, "our peer: %s\n", opened.error().message.c_str());
    return 1;
  }
  std::printf("our peer: ready\n");
  std::fflush(stdout);
  Stream stream(engine, arguments.bytes, arguments.send);
  engine.set_acceptor(&stream);
  if (!arguments.connect_to.empty()) {
    const tcp::EngineGuard guard(engine.lock());
    const auto peer = net::parse_ip(arguments.connect_to);
    auto link = (*opened)->link_to(*peer, 0);
    if (engine.connect(**link, *peer, arguments.port, &stream, 0) == nullptr) {
      std::fprintf(stderr, "our peer: cannot connect\n");
      return 1;
    }
  }
  const Instant until = monotonic_now() + std::chrono::duration_cast<Duration>(
                                              std::chrono::duration<double>(arguments.timeout_s));
  while (!stream.finished() && monotonic_now() < until) {
    engine.progress();
  }
  // The close is a handshake of its own.
  const Instant linger = monotonic_now() + std::chrono::seconds(3);
  while (engine.flows() > 0 && monotonic_now() < linger) {
    engine.progress();
  }
  if (!stream.good()) {
    std::fprintf(
        stderr, "our peer: %llu of %llu bytes, %llu wrong\n", static_cast<unsigned long long>(stream.done()),
        static_cast<unsigned long long>(arguments.bytes), static_cast<unsigned long long>(stream.wrong()));
  }
  return stream.good() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Our end of an interop stream"};
  Arguments arguments;
  app.add_option("--kind", arguments.kind, "af_packet or tap");
  app.add_option("--device", arguments.device)->required();
  app.add_option("--address", arguments.address, "own address with prefix length")->required();
  app.add_option("--connect", arguments.connect_to, "the peer's address; without it, listen");
  app.add_option("--port", arguments.port);
  app.add_option("--bytes", arguments.bytes)->required();
  app.add_flag("--send", arguments.send, "send the stream instead of receiving it");
  app.add_option("--timeout", arguments.timeout_s, "seconds");
  CLI11_PARSE(app, argc, argv);
  log::set_sink(log_to_stderr);
  return run(arguments);
}
