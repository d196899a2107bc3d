// One connection with a peer, an application and a clock that do what the input says. Sequence numbers
// are drawn near those that matter, so that the search gets beyond the first check of a segment.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "tests/fuzz/input.h"
#include "tests/fuzz/require.h"
#include "transport/tcp/stack/connection.h"
#include "transport/tcp/stack/syn_cookie.h"

namespace tfabric::fuzz {
namespace {

using namespace std::chrono_literals;
namespace flag = stack::flag;

constexpr Seq kPeerIss{0x7ffff000u};
constexpr Seq kIss{0xfffff000u};
constexpr stack::Ports kPorts{4000, 7};
constexpr std::array<std::byte, 16> kSecret{std::byte{7}};
constexpr std::uint32_t kMostSegments = 20'000;  // at one instant

class Machine {
 public:
  explicit Machine(Input& input) : input_(input), memory_(std::make_unique<std::byte[]>(kWriteBytes)) {}
  ~Machine() {
    connection_.reset();
    TFABRIC_REQUIRE(retained_ == 0 && retained_bytes_ == 0);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void run() {
    open();
    for (int steps = 0; !input_.empty() && steps < 2000; ++steps) {
      step();
      check();
    }
  }

 private:
  static constexpr std::uint32_t kWriteBytes = 1 << 16;

  void open() {
    const std::uint8_t choice = input_.u8();
    options_.mss = (choice & 1) != 0 ? 1460 : 100;
    options_.timestamps = (choice & 2) != 0;
    options_.sack = (choice & 4) != 0;
    options_.delayed_ack = (choice & 8) != 0 ? 1ms : 0ms;
    options_.receive_buffer = (choice & 16) != 0 ? 1u << 20 : 3000;
    const std::uint8_t more = input_.u8();
    options_.congestion = static_cast<stack::CongestionAlgorithm>((more & 3) % 3);
    options_.pacing = (more & 4) != 0;
    options_.ecn = (more & 8) != 0;
    options_.send_buffer = 1u << 18;
    options_.user_timeout = 3s;
    options_.keepalive_idle = (choice & 32) != 0 ? 1s : 0s;
    const stack::PayloadOps ops{
        .context = this,
        .retain = [](void* self,
                     stack::Payload& payload) { return static_cast<Machine*>(self)->retain(payload); },
        .release = [](void* self,
                      stack::Payload& payload) { static_cast<Machine*>(self)->release(payload); }};
    if ((choice & 64) != 0) {
      connection_ = stack::Connection::connect(options_, ops, kPorts, kIss, now_);
      drain(kMostSegments);
    } else {
      stack::SegmentIn syn;
      syn.source_port = kPorts.remote;
      syn.destination_port = kPorts.local;
      syn.flags = flag::syn;
      draw_fields(syn);
      syn.seq = kPeerIss;
      syn.ack = Seq();
      connection_ = (choice & 128) != 0 ? accept_by_cookie(ops, syn)
                                        : stack::Connection::accept(options_, ops, syn, kIss, now_);
    }
  }

  // The SYN is answered by a cookie, which the peer returns with other contents of the input.
  std::unique_ptr<stack::Connection> accept_by_cookie(const stack::PayloadOps& ops,
                                                      const stack::SegmentIn& syn) {
    const stack::SynCookies cookies(kSecret);
    const stack::FlowTableKey flow{.local = {}, .remote = {}, .ports = kPorts};
    const stack::SegmentOut answer = cookies.answer(options_, flow, syn, now_);
    std::array<std::byte, stack::kTcpHeaderBytes + stack::kTcpMaxOptionBytes> header;
    stack::write_header(answer, header.data());
    const auto heard = stack::parse_segment(std::span(header).first(answer.header_size()));
    TFABRIC_REQUIRE(heard.has_value());
    stack::SegmentIn ack;
    draw_fields(ack);
    ack.source_port = kPorts.remote;
    ack.destination_port = kPorts.local;
    ack.flags = flag::ack;
    ack.payload = {};
    ack.seq = syn.seq + 1;
    ack.ack = answer.seq + 1;
    ack.has_timestamps = heard->has_timestamps;
    ack.ts_ecr = heard->ts_val;
    const auto handshake = cookies.recall(options_, flow, ack, now_);
    TFABRIC_REQUIRE(handshake.has_value() && handshake->iss == answer.seq);
    auto connection = stack::Connection::accept_answered(std::make_shared<const stack::Options>(options_),
                                                         ops, handshake->syn, handshake->iss, now_);
    connection->on_segment(ack, now_);
    connection->settle();
    return connection;
  }

  void step() {
    const std::uint8_t kind = input_.u8();
    switch (kind % 12) {
      case 0:
      case 1:
      case 2:
        hand_segment();
        break;
      case 3:
        advance(Duration(input_.u16() * 10us));
        break;
      case 4:
        if (const Instant deadline = connection_->next_deadline(); deadline != kNever) {
          advance(std::max(deadline - now_, Duration::zero()));
        }
        break;
      case 5:
        write();
        break;
      case 6:
        read(input_.u16());
        break;
      case 7:
        drain(1 + input_.u8());
        return;
      case 8:
        memory_short_ = !memory_short_;
        break;
      case 9:
        connection_->close();
        break;
      case 10:
        connection_->set_path_mss(input_.u16(), now_);
        break;
      case 11:
        if (const std::uint8_t how = input_.u8(); how == 0) {
          connection_->abort();
        } else if (how == 1) {
          connection_->fail(stack::ConnectionError::unreachable);
        } else if (how < 4) {
          connection_->keep_out_of_order(how == 2);
        }
        break;
    }
    if (kind < 128) {
      drain(kMostSegments);
    }
  }

  void hand_segment() {
    stack::SegmentIn segment;
    segment.source_port = kPorts.remote;
    segment.destination_port = kPorts.local;
    draw_fields(segment);
    // Of exactly this size, and freed after settle(), for AddressSanitizer.
    const std::vector<std::byte> payload(segment.payload.size);
    segment.payload.data = payload.data();
    connection_->on_segment(segment, now_);
    read(input_.u16());
    connection_->settle();
  }

  void draw_fields(stack::SegmentIn& segment) {
    static constexpr std::uint8_t kFlags[] = {flag::ack,
                                              flag::ack,
                                              flag::ack | flag::psh,
                                              flag::ack | flag::fin,
                                              flag::syn | flag::ack,
                                              flag::syn,
                                              flag::rst,
                                              flag::rst | flag::ack,
                                              0,
                                              0xff};
    const stack::ConnectionInfo info = connection_ ? connection_->info() : stack::ConnectionInfo{};
    segment.flags |= kFlags[input_.u8() % std::size(kFlags)];
    segment.seq = near(info.rcv_nxt, kPeerIss);
    segment.ack = near(info.snd_nxt, info.snd_una);
    segment.window = input_.u16();
    const std::uint8_t extras = input_.u8();
    segment.payload.size = (extras & 1) != 0 ? input_.u16() % 9000 : 0;
    segment.has_timestamps = (extras & 2) != 0;
    ts_val_ += segment.has_timestamps ? static_cast<std::uint32_t>(static_cast<std::int8_t>(input_.u8())) : 0;
    segment.ts_val = ts_val_;
    segment.sack_permitted = (extras & 4) != 0;
    segment.congestion_experienced = (extras & 128) != 0;
    segment.ts_ecr = static_cast<std::uint32_t>(now_.time_since_epoch() / 1ms) - input_.u8();
    segment.mss = (extras & 8) != 0 ? input_.u16() : 0;
    segment.window_scale = static_cast<std::int8_t>((extras & 16) != 0 ? input_.u8() % 15 : -1);
    segment.sack_count = static_cast<std::uint8_t>(extras >> 5 & 3);
    for (std::size_t i = 0; i < segment.sack_count; ++i) {
      segment.sack[i].left = near(info.snd_una, info.snd_nxt);
      segment.sack[i].right = near(info.snd_nxt, segment.sack[i].left);
    }
  }

  Seq near(Seq a, Seq b) {
    switch (input_.u8() % 5) {
      case 0:
        return a;
      case 1:
        return a + static_cast<std::uint32_t>(static_cast<std::int8_t>(input_.u8()));
      case 2:
        return a + static_cast<std::uint32_t>(static_cast<std::int16_t>(input_.u16()));
      case 3:
        return b + static_cast<std::uint32_t>(static_cast<std::int8_t>(input_.u8()));
      default:
        return Seq(input_.u32());
    }
  }

  void advance(Duration time) {
    now_ += time;
    connection_->on_time(now_);
    drain(kMostSegments);
    // A caller that sleeps until the next deadline would not sleep at all.
    TFABRIC_REQUIRE(connection_->next_deadline() > now_);
  }

  void write() {
    const std::uint32_t size = input_.u16();
    const std::uint64_t before = connection_->stream_written();
    const bool taken = size <= stack::Connection::kInlineBytes
                           ? connection_->send_inline({memory_.get(), size})
                           : connection_->send({memory_.get(), size, nullptr});
    TFABRIC_REQUIRE(connection_->stream_written() == before + (taken ? size : 0));
  }

  void read(std::uint32_t most) {
    while (most > 0) {
      const auto bytes = connection_->readable();
      const auto n = static_cast<std::uint32_t>(std::min<std::size_t>(most, bytes.size()));
      if (n == 0) {
        return;
      }
      // Reads each byte, for AddressSanitizer.
      TFABRIC_REQUIRE(std::count(bytes.begin(), bytes.begin() + n, std::byte{}) == n);
      connection_->consume(n);
      most -= n;
    }
  }

  void drain(std::uint32_t most) {
    stack::SegmentOut segment;
    for (std::uint32_t i = 0; i < most; ++i) {
      if (!connection_->next_segment(segment, now_)) {
        return;
      }
      check_outgoing(segment);
    }
    TFABRIC_REQUIRE(most < kMostSegments);
  }

  void check_outgoing(const stack::SegmentOut& segment) {
    TFABRIC_REQUIRE(segment.option_size % 4 == 0 && segment.option_size <= stack::kTcpMaxOptionBytes);
    TFABRIC_REQUIRE(segment.payload_size == 0 || segment.payload_size + segment.option_size <= options_.mss);
    std::uint32_t sum = 0;
    for (const stack::Payload& piece : std::span(segment.pieces).first(segment.piece_count)) {
      TFABRIC_REQUIRE(std::count(piece.data, piece.data + piece.size, std::byte{}) == piece.size);
      sum += piece.size;
    }
    TFABRIC_REQUIRE(sum == segment.payload_size);
    std::array<std::byte, stack::kTcpHeaderBytes + stack::kTcpMaxOptionBytes> header;
    stack::write_header(segment, header.data());
    const auto read_back = stack::parse_segment(std::span(header).first(segment.header_size()));
    TFABRIC_REQUIRE(read_back && read_back->seq == segment.seq && read_back->flags == segment.flags);
  }

  void check() {
    const stack::ConnectionInfo info = connection_->info();
    TFABRIC_REQUIRE(connection_->stream_acked() <= connection_->stream_written());
    TFABRIC_REQUIRE(connection_->stream_written() - connection_->stream_acked() <= options_.send_buffer);
    TFABRIC_REQUIRE(info.flight <= options_.send_buffer + 1);
    TFABRIC_REQUIRE(info.cwnd >= info.mss);
    // Twice the buffer: a payload that is read in part, or overlaps what came before it, is kept whole.
    TFABRIC_REQUIRE(retained_bytes_ <= 2 * std::uint64_t{options_.receive_buffer} + 65535);
    TFABRIC_REQUIRE(connection_->error() != stack::ConnectionError::aborted ||
                    connection_->readable().empty());
    if (connection_->finished()) {
      TFABRIC_REQUIRE(connection_->next_deadline() == kNever);
      TFABRIC_REQUIRE(connection_->state() == stack::State::closed);
    }
    if (connection_->established() && info.flight > 0) {
      TFABRIC_REQUIRE(connection_->next_deadline() != kNever);
    }
  }

  bool retain(stack::Payload& payload) {
    TFABRIC_REQUIRE(payload.size > 0);
    if (memory_short_) {
      return false;
    }
    auto* copy = new std::vector<std::byte>(payload.data, payload.data + payload.size);
    payload.data = copy->data();
    payload.owner = copy;
    ++retained_;
    retained_bytes_ += copy->size();
    return true;
  }
  void release(stack::Payload& payload) {
    auto* copy = static_cast<std::vector<std::byte>*>(payload.owner);
    TFABRIC_REQUIRE(retained_ > 0);
    --retained_;
    retained_bytes_ -= copy->size();
    delete copy;
  }

  Input& input_;
  stack::Options options_;
  Instant now_{1h};
  std::unique_ptr<std::byte[]> memory_;  // what is written: zeros
  std::unique_ptr<stack::Connection> connection_;
  std::uint32_t ts_val_ = 1000;
  bool memory_short_ = false;
  std::uint64_t retained_ = 0, retained_bytes_ = 0;
};

}  // namespace
}  // namespace tfabric::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tfabric::fuzz::Input input(data, size);
  tfabric::fuzz::Machine(input).run();
  return 0;
}
