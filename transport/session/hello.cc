#include "transport/session/hello.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/little_endian.h"
#include "transport/lane/record.h"

namespace tfabric::tcp {
namespace {

using Bytes = std::span<const std::byte>;

// Where the fields are that both records have, but at other places.
struct Places {
  std::size_t nonce, contact, tag;
};
constexpr Places kHello{.nonce = 32, .contact = 48, .tag = 80};
constexpr Places kWelcome{.nonce = 8, .contact = 24, .tag = 56};
// Of the hello.
constexpr std::size_t kKindAt = 1, kRailAt = 2, kCommAt = 8, kIdAt = 16, kHelloModeAt = 24;
// Of the welcome.
constexpr std::size_t kStatusAt = 1, kWelcomeModeAt = 2;
// Of both.
constexpr std::size_t kSerialAt = 4;
constexpr std::byte kPlain{0};  // the mode of lanes that are not sealed

static_assert(kHello.contact + witness::kContactBytes <= kHello.tag);
static_assert(kHello.tag + sizeof(Tag) == sizeof(HelloBytes));
static_assert(kWelcome.contact + witness::kContactBytes <= kWelcome.tag);
static_assert(kWelcome.tag + sizeof(Tag) == sizeof(WelcomeBytes));
static_assert(sizeof(HelloBytes) <= lane::kMaxControlBytes);

// M. The label says what is signed, so that no tag can stand for another.
Tag sign(const Token& token, std::string_view label, std::initializer_list<Bytes> parts) {
  const Bytes first = std::as_bytes(std::span(label));
  std::vector<std::byte> input(first.begin(), first.end());
  for (const Bytes part : parts) {
    input.insert(input.end(), part.begin(), part.end());
  }
  return siphash(token, input);
}

using namespace std::string_view_literals;
constexpr std::string_view kIdLabel = "\0id"sv, kHelloLabel = "\1C"sv, kWelcomeLabel = "\2S"sv,
                           kProofLabel = "\3C"sv, kWitnessLabel = "w"sv;

Tag sign_hello(const HelloBytes& hello, const Token& token) {
  return sign(token, kHelloLabel, {Bytes(hello).first(kHello.tag)});
}

Tag sign_welcome(Bytes welcome, const HelloBytes& hello, const Token& token) {
  return sign(token, kWelcomeLabel, {hello, welcome.first(kWelcome.tag)});
}

Bytes tag_of(const HelloBytes& hello) { return Bytes(hello).subspan(kHello.tag); }
Bytes tag_of(const WelcomeBytes& welcome) { return Bytes(welcome).subspan(kWelcome.tag); }

bool matches(Bytes tag, const Tag& expected) {
  Tag given{};
  std::copy(tag.begin(), tag.end(), given.begin());
  return equal_in_constant_time(given, expected);
}

template <class Record>
void put_common(const Record& record, const Places& at, std::span<std::byte> bytes) {
  bytes[0] = std::byte{kProtocolVersion};
  put_little_endian(&bytes[kSerialAt], record.serial.value);
  std::copy(record.nonce.begin(), record.nonce.end(), &bytes[at.nonce]);
  encode(record.witness, bytes.subspan(at.contact).first<witness::kContactBytes>());
}

template <class Record>
void get_common(Bytes bytes, const Places& at, Record& record) {
  record.serial = {get_little_endian<std::uint32_t>(&bytes[kSerialAt])};
  std::copy_n(&bytes[at.nonce], record.nonce.size(), record.nonce.begin());
  record.witness = witness::decode_contact(bytes.subspan(at.contact).first<witness::kContactBytes>());
}

}  // namespace

std::uint64_t token_id(const Token& token) {
  return get_little_endian<std::uint64_t>(sign(token, kIdLabel, {}).data());
}

Nonce nonce_of_lane(const Nonce& comm, stripe::LaneSerial serial) {
  return siphash(comm, std::as_bytes(std::span(&serial.value, 1)));
}

HelloBytes encode(const Hello& hello) {
  HelloBytes bytes{};
  put_common(hello, kHello, bytes);
  bytes[kKindAt] = static_cast<std::byte>(hello.kind);
  put_little_endian(&bytes[kRailAt], hello.rail);
  put_little_endian(&bytes[kCommAt], hello.comm);
  put_little_endian(&bytes[kIdAt], token_id(hello.token));
  bytes[kHelloModeAt] = kPlain;
  const Tag tag = sign_hello(bytes, hello.token);
  std::copy(tag.begin(), tag.end(), &bytes[kHello.tag]);
  return bytes;
}

std::optional<Hello> decode_hello(Bytes body) {
  if (body.size() != sizeof(HelloBytes) || body[0] != std::byte{kProtocolVersion} ||
      body[kHelloModeAt] != kPlain) {
    return std::nullopt;
  }
  Hello hello;
  get_common(body, kHello, hello);
  hello.kind = static_cast<HelloKind>(body[kKindAt]);
  hello.rail = get_little_endian<std::uint16_t>(&body[kRailAt]);
  hello.comm = get_little_endian<std::uint64_t>(&body[kCommAt]);
  hello.id = get_little_endian<std::uint64_t>(&body[kIdAt]);
  if ((hello.kind != HelloKind::opens && hello.kind != HelloKind::joins) || hello.serial.value == 0) {
    return std::nullopt;
  }
  return hello;
}

bool is_signed(const HelloBytes& hello, const Token& token) {
  return matches(tag_of(hello), sign_hello(hello, token));
}

WelcomeBytes encode(const Welcome& welcome, const HelloBytes& hello, const Token& token) {
  WelcomeBytes bytes{};
  put_common(welcome, kWelcome, bytes);
  bytes[kStatusAt] = static_cast<std::byte>(welcome.status);
  bytes[kWelcomeModeAt] = kPlain;
  const Tag tag = sign_welcome(bytes, hello, token);
  std::copy(tag.begin(), tag.end(), &bytes[kWelcome.tag]);
  return bytes;
}

std::optional<Welcome> decode_welcome(Bytes body, const HelloBytes& hello, const Token& token) {
  if (body.size() != sizeof(WelcomeBytes) || body[0] != std::byte{kProtocolVersion} ||
      body[kWelcomeModeAt] != kPlain ||
      !matches(body.subspan(kWelcome.tag), sign_welcome(body, hello, token))) {
    return std::nullopt;
  }
  Welcome welcome;
  get_common(body, kWelcome, welcome);
  welcome.status = static_cast<WelcomeStatus>(body[kStatusAt]);
  const bool known = welcome.status == WelcomeStatus::ok || welcome.status == WelcomeStatus::gone;
  const bool same = std::equal(&body[kSerialAt], &body[kSerialAt] + sizeof welcome.serial, &hello[kSerialAt]);
  return known && same ? std::optional(welcome) : std::nullopt;
}

Tag proof_of(const HelloBytes& hello, const WelcomeBytes& welcome, const Token& token) {
  return sign(token, kProofLabel, {tag_of(hello), tag_of(welcome)});
}

bool is_proof(Bytes body, const Tag& expected) {
  return body.size() == expected.size() && matches(body, expected);
}

witness::Token witness_key(const Token& token, std::uint64_t one_process, std::uint64_t other_process) {
  std::array<std::byte, 2 * sizeof one_process> processes;
  put_little_endian(processes.data(), std::min(one_process, other_process));
  put_little_endian(&processes[sizeof one_process], std::max(one_process, other_process));
  return sign(token, kWitnessLabel, {processes});
}

}  // namespace tfabric::tcp
