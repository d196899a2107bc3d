#include "transport/tcp/session/handshake.h"

#include <algorithm>
#include <cstring>

#include "transport/tcp/lane/record.h"

namespace tfabric::tcp {
namespace {

constexpr std::size_t kHelloBytes = 32;   // version, zero, flow, flows, zero, comm, token
constexpr std::size_t kWelcomeBytes = 8;  // version, status, flow, zero

std::vector<std::byte> record_of(lane::RecordType type, std::span<const std::byte> body) {
  const auto header = lane::encode({.type = type, .length = static_cast<std::uint32_t>(body.size())});
  std::vector<std::byte> record(header.begin(), header.end());
  record.insert(record.end(), body.begin(), body.end());
  return record;
}

}  // namespace

std::vector<std::byte> encode(const Hello& hello) {
  std::array<std::byte, kHelloBytes> body{};
  body[0] = std::byte{kProtocolVersion};
  lane::put_u16(&body[2], hello.flow);
  lane::put_u16(&body[4], hello.flows);
  lane::put_u64(&body[8], hello.comm);
  std::copy(hello.token.begin(), hello.token.end(), body.begin() + 16);
  return record_of(lane::RecordType::hello, body);
}

std::vector<std::byte> encode(const Welcome& welcome) {
  std::array<std::byte, kWelcomeBytes> body{};
  body[0] = std::byte{kProtocolVersion};
  body[1] = static_cast<std::byte>(welcome.status);
  lane::put_u16(&body[2], welcome.flow);
  return record_of(lane::RecordType::welcome, body);
}

std::optional<Hello> decode_hello(std::span<const std::byte> body) {
  if (body.size() != kHelloBytes || body[0] != std::byte{kProtocolVersion}) {
    return std::nullopt;
  }
  Hello hello;
  hello.flow = lane::get_u16(&body[2]);
  hello.flows = lane::get_u16(&body[4]);
  hello.comm = lane::get_u64(&body[8]);
  std::copy_n(body.begin() + 16, hello.token.size(), hello.token.begin());
  // One that joins has a number like any other, of which there are no more than flows.
  const std::uint16_t numbers = hello.flows == 0 ? kMaxFlows : hello.flows;
  if (numbers > kMaxFlows || hello.flow >= numbers) {
    return std::nullopt;
  }
  return hello;
}

std::optional<Welcome> decode_welcome(std::span<const std::byte> body) {
  if (body.size() != kWelcomeBytes || body[0] != std::byte{kProtocolVersion}) {
    return std::nullopt;
  }
  return Welcome{static_cast<WelcomeStatus>(body[1]), lane::get_u16(&body[2])};
}

}  // namespace tfabric::tcp
