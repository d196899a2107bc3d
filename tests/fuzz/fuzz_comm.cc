// Whole comms beside a peer that has the token and says anything: after a handshake that is right, its lanes
// bring control records and pieces with any serials, positions, groups and sizes, joining, ending in order
// and being reset in between, while the comm's user posts requests, tests them, and closes it at last.
//
// Whatever comes, no byte outside of the posted buffers is written or read (they are of their exact size, for
// AddressSanitizer), a request that has ended well has a size that fits it, and nothing is left of the comm
// once it is closed. The engine is the real one, over wires within the process, in virtual time.
#include <catch2/catch.hpp>

#include "tests/fuzz/require.h"
// The fixtures are the unit tests': outside of a Catch2 program their requirements are the fuzzer's.
#undef REQUIRE
#undef REQUIRE_FALSE
#undef INFO
#define REQUIRE(...) TFABRIC_REQUIRE((__VA_ARGS__))
#define REQUIRE_FALSE(...) TFABRIC_REQUIRE(!(__VA_ARGS__))
#define INFO(text) static_cast<void>(0)

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "tests/fuzz/input.h"
#include "tests/unit/tcp/caller.h"
#include "transport/stripe/burial.h"

using namespace tfabric;
using namespace tfabric::comm;
using namespace tfabric::session;
using namespace tfabric::comm::test;
using namespace std::chrono_literals;
using lane::RecordType;

namespace {

Instant g_now{};  // the engine's time

engine::EngineOptions virtual_time() {
  engine::EngineOptions options;
  options.clock = [] { return g_now; };
  return options;
}

void turn(World& world, Duration passed) {
  g_now += passed;
  const engine::Guard guard(world.engine.lock());
  world.engine.turn();
}

// Turns until `done`, for a bounded time.
template <class Done>
bool turn_until(World& world, const Done& done) {
  for (int i = 0; i < 2000 && !done(); ++i) {
    turn(world, 1ms);
  }
  return done();
}

// --- what the peer says

// Serials of lanes that there are, were, and will never be.
stripe::LaneSerial a_serial(fuzz::Input& input) {
  const std::uint8_t choice = input.u8();
  return {choice < 240 ? choice % 6u : input.u32()};
}

std::uint64_t a_position(fuzz::Input& input) {
  const std::uint8_t choice = input.u8();
  const std::uint64_t high = choice >= 248 ? input.u32() : 0;
  return high << 32 | (choice < 128 ? input.u8() * 16u : input.u16());
}

std::vector<std::byte> a_piece(fuzz::Input& input) {
  const lane::RecordHeader header{.type = RecordType::piece,
                                  .index = {static_cast<std::uint8_t>(input.u8() % 3)},
                                  .tag = input.u8() % 2u,
                                  .group = {input.u8() % 40u},
                                  .length = input.u16() % 1200u,
                                  .total = input.u16() % 2000u,
                                  .offset = input.u8() % 8u * 128u};
  const lane::RecordHeaderBytes bytes = encode(header);
  std::vector<std::byte> record(bytes.begin(), bytes.end());
  record.resize(lane::header_bytes_of(header));
  record.insert(record.end(), header.length, static_cast<std::byte>(input.u8()));
  return record;
}

std::vector<std::byte> any_body(fuzz::Input& input, RecordType type) {
  std::vector<std::byte> body(input.u8() % (lane::kMaxControlBytes + 1));
  std::generate(body.begin(), body.end(), [&] { return static_cast<std::byte>(input.u8()); });
  return lane::encode_record(type, body, {input.u8() % 64u});
}

std::vector<std::byte> a_record(fuzz::Input& input, const Hello& hello) {
  constexpr std::array kWithPosition{RecordType::buried, RecordType::read};
  constexpr std::array kWithSerial{RecordType::bury, RecordType::settled};
  const std::uint8_t choice = input.u8();
  switch (choice % 8) {
    case 0:
    case 1:
      return a_piece(input);
    case 2: {
      const stripe::Graves::Grave grave{.serial = a_serial(input), .position = a_position(input)};
      return lane::encode_position(kWithPosition[choice / 8 % 2], grave);
    }
    case 3:
      return lane::encode_serial(kWithSerial[choice / 8 % 2], a_serial(input));
    case 4:
      return lane::encode_record(RecordType::posted, {}, {input.u8() % 64u});
    case 5:
      return lane::encode_record(choice < 200 ? RecordType::ask : RecordType::goodbye, {});
    case 6: {
      Hello again = hello;
      again.serial = a_serial(input);
      again.kind = choice / 8 % 2 == 0 ? HelloKind::opens : HelloKind::joins;
      return record_of(again);
    }
    default:
      return any_body(input, static_cast<RecordType>(1 + choice / 8));
  }
}

// --- the user's requests

struct Posted {
  std::vector<std::byte> memory;
  transport::Request* request = nullptr;
};

// Ends those that are done, and gives their memory back, as NCCL does.
void test_all(std::vector<std::unique_ptr<Posted>>& requests) {
  std::erase_if(requests, [](const auto& posted) {
    int size = 0;
    const Result<bool> done = posted->request->test(&size);
    TFABRIC_REQUIRE(!done || !*done || static_cast<std::size_t>(size) <= posted->memory.size());
    return !done || *done;
  });
}

// --- a receive comm, and who connects to it

void fuzz_receiver(fuzz::Input& input) {
  std::array<Caller, 4> callers;
  World world({}, {}, {}, nullptr, {}, virtual_time());
  Hello hello{.token = world.token, .comm = 7, .serial = {1}};
  callers[0].join(world, hello);
  TFABRIC_REQUIRE(turn_until(world, [&] { return world.pending.has_ready(); }));
  std::unique_ptr<RecvComm> comm;
  {
    const engine::Guard guard(world.engine.lock());
    comm = world.pending.take();
  }
  std::vector<std::unique_ptr<Posted>> requests;
  while (!input.empty()) {
    const std::uint8_t choice = input.u8();
    Caller& caller = callers[choice % callers.size()];
    const bool there = caller.flow != nullptr && !caller.refused;
    if (choice < 60 && requests.size() < 30) {
      auto posted = std::make_unique<Posted>();
      posted->memory.resize(input.u16() % 2000u);
      const transport::ReceiveBuffer buffer{posted->memory.data(), posted->memory.size(), input.u8() % 2,
                                            nullptr};
      const auto request = comm->irecv(std::span(&buffer, 1));
      if (request && *request != nullptr) {
        posted->request = *request;
        requests.push_back(std::move(posted));
      }
    } else if (choice < 80 && caller.flow == nullptr) {
      hello.serial = a_serial(input);
      hello.kind = choice % 3 == 0 ? HelloKind::opens : HelloKind::joins;
      caller.join(world, hello);
    } else if (choice < 88 && there) {
      const engine::Guard guard(world.engine.lock());
      choice % 3 == 0 ? caller.flow->abort() : caller.flow->close();
      caller.refused = true;
    } else if (choice < 240 && there) {
      const std::vector<std::byte> record = a_record(input, hello);
      const engine::Guard guard(world.engine.lock());
      const auto pieces = static_cast<std::uint32_t>(record.size() / stack::Connection::kInlineBytes + 1);
      if (caller.flow->stream().send_room() >= record.size() &&
          caller.flow->stream().can_send_ranges(pieces)) {
        caller.say(record);
      }
    }
    turn(world, choice % 16 == 0 ? Duration(input.u16() * 1ms) : Duration(1ms));
    test_all(requests);
  }
  comm.reset();
  turn(world, 1ms);
}

// --- a send comm, and who accepts its lanes

// A lane's other end: welcomes it, and sends what the input says.
struct Impostor final : engine::FlowHandler {
  explicit Impostor(const Token& its_token) : token(its_token) {}

  std::size_t on_data(engine::Flow& /*flow*/, std::span<const std::byte> bytes) override {
    heard.insert(heard.end(), bytes.begin(),
                 bytes.begin() + static_cast<std::ptrdiff_t>(
                                     std::min(bytes.size(), kHello - std::min(kHello, heard.size()))));
    if (heard.size() == kHello && !welcomed) {
      welcomed = true;
      HelloBytes hello{};
      std::copy(heard.begin() + lane::kRecordHeaderBytes, heard.end(), hello.begin());
      if (const auto read = decode_hello(hello)) {
        say(lane::encode_record(RecordType::welcome, encode(Welcome{.serial = read->serial}, hello, token)));
      }
    }
    return bytes.size();
  }
  void on_progress(engine::Flow& /*flow*/) override {}
  void on_failed(engine::Flow& /*flow*/, stack::ConnectionError /*error*/) override { flow = nullptr; }

  void say(std::span<const std::byte> words) const {
    while (!words.empty()) {
      const auto piece = words.first(std::min<std::size_t>(words.size(), stack::Connection::kInlineBytes));
      if (!flow->stream().send_inline(piece)) {
        return;
      }
      words = words.subspan(piece.size());
    }
    flow->wake();
  }

  static constexpr std::size_t kHello = lane::kRecordHeaderBytes + std::tuple_size_v<HelloBytes>;
  Token token;
  engine::Flow* flow = nullptr;
  std::vector<std::byte> heard;
  bool welcomed = false;
};

struct Impostors final : engine::Acceptor {
  explicit Impostors(const Token& its_token) : token(its_token) {}
  bool on_connection(engine::Flow& flow) override {
    if (all.size() == 16) {
      return false;
    }
    all.push_back(std::make_unique<Impostor>(token));
    all.back()->flow = &flow;
    flow.set_handler(all.back().get(), 0);
    return true;
  }
  Token token;
  std::vector<std::unique_ptr<Impostor>> all;
};

void fuzz_sender(fuzz::Input& input) {
  World world({}, {}, {}, nullptr, {}, virtual_time());
  Impostors impostors(world.token);
  {
    const engine::Guard guard(world.engine.lock());
    world.engine.set_acceptor(&impostors);
  }
  const Hello hello{.token = world.token, .comm = 7};
  auto comm = open_send(world, hello, 1);
  static_cast<void>(turn_until(world, [&] { return comm->welcomed(); }));
  std::vector<std::unique_ptr<Posted>> requests;
  while (!input.empty()) {
    const std::uint8_t choice = input.u8();
    Impostor* end = impostors.all.empty() ? nullptr : impostors.all[choice % impostors.all.size()].get();
    const bool there = end != nullptr && end->flow != nullptr;
    if (choice < 70 && requests.size() < 30) {
      auto posted = std::make_unique<Posted>();
      posted->memory.resize(input.u16() % 40000u);
      const auto request = comm->isend(posted->memory.data(), posted->memory.size(), input.u8() % 2, nullptr);
      if (request && *request != nullptr) {
        posted->request = *request;
        requests.push_back(std::move(posted));
      }
    } else if (choice < 80 && there) {
      const engine::Guard guard(world.engine.lock());
      choice % 3 == 0 ? end->flow->abort() : end->flow->close();
      end->flow = nullptr;
    } else if (choice < 240 && there) {
      const std::vector<std::byte> record = a_record(input, hello);
      const engine::Guard guard(world.engine.lock());
      end->say(record);
    }
    turn(world, choice % 16 == 0 ? Duration(input.u16() * 1ms) : Duration(1ms));
    test_all(requests);
  }
  comm.reset();
  const engine::Guard guard(world.engine.lock());
  for (const auto& each : impostors.all) {
    if (each->flow != nullptr) {
      each->flow->abort();
    }
  }
  world.engine.set_acceptor(nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  g_now = Instant(1'000s);
  fuzz::Input input(data, size);
  if (input.u8() % 2 == 0) {
    fuzz_receiver(input);
  } else {
    fuzz_sender(input);
  }
  return 0;
}
