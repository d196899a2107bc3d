// What a peer's flows bring to a receive comm: records of any kind with any fields, on two flows, cut
// anywhere, while receives are posted. Bytes that are no record come too.
//
// Whatever they say, no byte outside of the posted buffers is written (they are of their exact size, for
// AddressSanitizer), a group that is done has all bytes of all its messages, a refused stream stays refused,
// and a flow that dies anywhere leaves room for another that brings the same again.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/fuzz/input.h"
#include "tests/fuzz/require.h"
#include "transport/lane/announcements.h"
#include "transport/lane/flow_reader.h"
#include "transport/lane/offers.h"
#include "transport/session/handshake.h"
#include "transport/session/lane_opening.h"
#include "transport/stripe/inbox.h"

using namespace tfabric;
using namespace tfabric::lane;
using stripe::Completion;
using stripe::Inbox;

namespace {

constexpr std::size_t kFlows = 2;

constexpr session::Token kToken{std::byte{7}};

// The handshake's records, as both ends read them.
struct Controls final : ControlSink, session::LaneOpening::Opener {
  Status on_control(const RecordHeader& header, std::span<const std::byte> body) override {
    TFABRIC_REQUIRE(body.size() == header.length && body.size() <= kMaxControlBytes);
    if (const auto hello = session::decode_hello(body)) {
      session::HelloBytes bytes{};
      std::copy(body.begin(), body.end(), bytes.begin());
      // Nothing that is not signed is taken for the listener's, or the connector's.
      TFABRIC_REQUIRE(!session::is_signed(bytes, kToken));
      const auto again = session::decode_hello(session::encode(*hello));
      TFABRIC_REQUIRE(again && again->comm == hello->comm && again->nonce == hello->nonce);
    }
    if (const auto serial = decode_serial(body)) {
      TFABRIC_REQUIRE(encode_serial(RecordType::bury, *serial).size() == kRecordHeaderBytes + body.size());
    }
    if (const auto grave = decode_position(body)) {
      TFABRIC_REQUIRE(encode_position(RecordType::buried, *grave).size() == kRecordHeaderBytes + body.size());
    }
    if (const auto rail = decode_rail(body)) {
      TFABRIC_REQUIRE(rail->count <= kMaxKeys && (rail->count == 0 || rail->number < rail->count));
      TFABRIC_REQUIRE(encode(*rail).size() == kRecordHeaderBytes + body.size());
    }
    if (const auto offer = decode_offer(body)) {
      TFABRIC_REQUIRE(encode(RecordType::offer, *offer).size() == kRecordHeaderBytes + body.size());
    }
    static_cast<void>(announced_.take(header.group, body));
    if (const auto group = announced_.next()) {
      TFABRIC_REQUIRE(group->count >= 1 && group->count <= transport::kMaxGroupedReceives);
      TFABRIC_REQUIRE(!announced_.find(group->group, {0}, 0));
    }
    TFABRIC_REQUIRE(!opening_.on_control(header, body));
    return {};
  }
  Status on_welcome(stripe::LaneId, const session::Welcome&, const session::Tag&) override {
    TFABRIC_REQUIRE(!"a welcome is signed with a token that the input does not have");
    return {};
  }

 private:
  AnnouncedReceives announced_;
  session::LaneOpening opening_{*this, {0}, session::Hello{.token = kToken, .serial = {1}}};
};

struct Group {
  std::vector<std::unique_ptr<std::vector<std::byte>>> memory;
  std::unique_ptr<Completion> completion = std::make_unique<Completion>();
};

class Comm {
 public:
  explicit Comm(fuzz::Input& input) : input_(input) {
    for (std::size_t i = 0; i < kFlows; ++i) {
      readers_.emplace_back(controls_, &inbox_);
      rest_.emplace_back();
    }
  }

  void run() {
    while (!input_.empty()) {
      const std::uint8_t choice = input_.u8();
      if (choice < 80) {
        post();
      } else if (choice < 85) {
        replace(choice % kFlows);
      } else {
        arrive(choice % kFlows, choice >= 240);
      }
      for (std::size_t flow = 0; flow < kFlows; ++flow) {
        feed(flow);
      }
    }
    for (const Group& group : groups_) {
      if (group.completion->state == Completion::State::done) {
        for (std::size_t i = 0; i < group.memory.size(); ++i) {
          TFABRIC_REQUIRE(group.completion->sizes[i] <= group.memory[i]->size());
        }
      }
    }
  }

 private:
  void post() {
    Group group;
    const std::size_t count = 1 + input_.u8() % transport::kMaxGroupedReceives;
    std::vector<transport::ReceiveBuffer> buffers;
    for (std::size_t i = 0; i < count; ++i) {
      group.memory.push_back(std::make_unique<std::vector<std::byte>>(input_.u16() % 20000));
      buffers.push_back({.data = group.memory.back()->data(),
                         .size = group.memory.back()->size(),
                         .tag = input_.u8() % 4,
                         .region = nullptr});
    }
    group.completion->count = static_cast<std::uint8_t>(count);
    // An error is a message that came before its receive and does not fit it: the comm would end.
    const Result<bool> posted = inbox_.post(buffers, group.completion.get());
    if (!posted || *posted) {
      groups_.push_back(std::move(group));
    }
  }

  // The flow dies, and another one takes its place.
  void replace(std::size_t flow) {
    readers_[flow].bury();
    TFABRIC_REQUIRE(!readers_[flow].take({}));
    readers_[flow] = FlowReader(controls_, &inbox_);
    rest_[flow].clear();
  }

  void arrive(std::size_t flow, bool raw) {
    std::vector<std::byte>& stream = rest_[flow];
    if (raw) {
      for (std::size_t i = input_.u8() % 48; i > 0; --i) {
        stream.push_back(static_cast<std::byte>(input_.u8()));
      }
      return;
    }
    // Groups near those that are posted, and sizes that often fit.
    const RecordHeader header{.type = static_cast<RecordType>(1 + input_.u8() % 18),
                              .index = {static_cast<std::uint8_t>(input_.u8() % 10)},
                              .tag = static_cast<std::uint32_t>(input_.u8() % 4),
                              .group = {inbox_.next_group().value - 8 + input_.u8() % 48},
                              .length = static_cast<std::uint32_t>(input_.u16() % 9000),
                              .total = static_cast<std::uint32_t>(input_.u16() % 20000),
                              .offset = static_cast<std::uint32_t>(input_.u8()) * 128};
    const RecordHeaderBytes bytes = encode(header);
    if (const auto decoded = decode(bytes)) {
      TFABRIC_REQUIRE(*decoded == header);
    }
    stream.insert(stream.end(), bytes.begin(), bytes.end());
    const std::uint8_t fill = input_.u8();
    stream.insert(stream.end(), std::min<std::size_t>(header.length, 9000), static_cast<std::byte>(fill));
  }

  void feed(std::size_t flow) {
    std::vector<std::byte>& stream = rest_[flow];
    const std::size_t cut = std::min<std::size_t>(stream.size(), 1 + input_.u16());
    const Status taken = readers_[flow].take(std::span(stream).first(cut));
    if (!taken) {
      const Status again = readers_[flow].take(std::span(stream).first(cut));
      TFABRIC_REQUIRE(!again && again.error().message == taken.error().message);
      stream.clear();
      return;
    }
    stream.erase(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(cut));
  }

  fuzz::Input& input_;
  Controls controls_;
  Inbox inbox_;
  std::vector<FlowReader> readers_;
  std::vector<std::vector<std::byte>> rest_;  // bytes of each flow that no reader has taken yet
  std::vector<Group> groups_;
};

void try_handle(const std::uint8_t* data, std::size_t size) {
  std::array<std::byte, transport::kHandleBytes> given{}, written{};
  std::memcpy(given.data(), data, std::min(size, given.size()));
  // With a right seal the rest is read, too.
  for (const bool sealed : {false, true}) {
    if (sealed) {
      transport::seal_handle(session::kProtocolVersion, given);
    }
    if (const auto handle = session::read_handle(given)) {
      TFABRIC_REQUIRE(!handle->endpoints.empty() && handle->endpoints.size() <= session::kMaxHandleAddresses);
      TFABRIC_REQUIRE(handle->max_recvs >= 1 && handle->max_recvs <= transport::kMaxGroupedReceives);
      session::write_handle(*handle, written);
      TFABRIC_REQUIRE(session::read_handle(written)->endpoints == handle->endpoints);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try_handle(data, size);
  fuzz::Input input(data, size);
  Comm(input).run();
  return 0;
}
