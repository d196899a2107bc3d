#include "tests/simulation/rails/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/simulation/rails/virtual_host.h"

namespace tfabric::simulation::rails {
namespace {

constexpr std::byte kGivenBack{0xee};
constexpr std::size_t kSlack = 64;  // bytes that a receive has beyond its message

std::vector<comm::SendRoute> routes_between(Host& from, Host& to, const JobOptions& options) {
  std::vector<session::RailEnd> ends;
  for (const session::RailRole role : options.roles) {
    ends.push_back({.role = role});
  }
  std::vector<comm::SendRoute> routes;
  for (const session::RailPair& pair : session::pair_rails(ends, ends)) {
    const net::IpAddress remote = to.address(pair.theirs);
    auto path = from.context().peers.paths.path(from.link(pair.ours).name(), remote, options.lanes);
    const std::uint32_t lanes = path->flows();
    routes.push_back({.rank = pair.rank,
                      .carrier = from.link(pair.ours).number(),
                      .rail_number = static_cast<std::uint16_t>(pair.ours),
                      .remote = remote,
                      .port = to.tcp().port(),
                      .path = std::move(path),
                      .wanted = lanes,
                      .joined = {}});
  }
  return routes;
}

}  // namespace

Job::Job(const JobOptions& options, Host& from, Host& to)
    : options_(options), to_(&to), random_(options.seed) {
  open(from, to);
}

void Job::open(Host& from, Host& to) {
  const engine::Guard guard(from.engine().lock());
  const session::Hello hello{.token = to.token(), .comm = random_u64(), .serial = {}, .witness = {}};
  send_ = std::make_unique<comm::SendComm>(from.context(), hello, to.context().options.max_recvs,
                                           routes_between(from, to, options_));
  if (send_->open_lanes()) {
    fail("a route cannot open a lane");
  }
}

void Job::fail(std::string what) {
  if (!fault_) {
    fault_ = std::move(what);
  }
}

void Job::give_back(Buffer& buffer) {
  buffer.returned = true;
  if (options_.keep) {
    std::fill(buffer.bytes.begin(), buffer.bytes.end(), kGivenBack);
  } else {
    std::vector<std::byte>().swap(buffer.bytes);
  }
}

std::vector<std::byte> Job::content(std::size_t message) const {
  std::vector<std::byte> bytes(options_.messages[message]);
  SeededRandom words(options_.seed * 1'000'003 + message);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = words.next();
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, bytes.size() - at));
  }
  return bytes;
}

bool Job::ended(Buffer& buffer, int* size) {
  const Result<bool> result = buffer.request->test(size);
  if (!result) {
    (size == nullptr ? failed_send_ : failed_receive_) = true;
    return false;
  }
  return *result;
}

Instant Job::step_sender() {
  if (send_ == nullptr || !started_) {
    return kNever;
  }
  failed_send_ = failed_send_ || (send_->failed() && sent_ == sends_.size());
  if (!send_->welcomed() || failed_send_) {
    return kNever;
  }
  const std::size_t all = options_.messages.size();
  while (!failed_send_ && sends_.size() < all && sends_.size() - sent_ < options_.depth &&
         virtual_now() >= next_send_) {
    post_send();
    if (sends_.back().request == nullptr) {
      sends_.pop_back();
      break;
    }
    if (random_.chance(0.3)) {
      next_send_ = virtual_now() + random_.between(Duration::zero(), options_.pause);
    }
  }
  // As NCCL does, which asks for the oldest first.
  while (!failed_send_ && sent_ < sends_.size() && ended(sends_[sent_], nullptr)) {
    give_back(sends_[sent_++]);
  }
  return next_send_ > virtual_now() ? next_send_ : kNever;
}

void Job::post_send() {
  const std::size_t number = sends_.size();
  Buffer& buffer = sends_.emplace_back();
  buffer.bytes = content(number);
  auto request = send_->isend(buffer.bytes.data(), buffer.bytes.size(), /*tag=*/0, nullptr);
  if (!request) {
    failed_send_ = true;
    return;
  }
  buffer.request = *request;
}

Instant Job::step_receiver() {
  if (receive_ == nullptr && send_ != nullptr) {
    const engine::Guard guard(to_->engine().lock());
    receive_ = to_->pending().take();
    last_receive_ = virtual_now();
  }
  if (receive_ == nullptr || failed_receive_) {
    return kNever;
  }
  failed_receive_ = receive_->failed() && received_ == receives_.size();
  const std::size_t all = options_.messages.size();
  while (!failed_receive_ && receives_.size() < all && receives_.size() - received_ < options_.depth &&
         virtual_now() >= next_post_) {
    post_receive();
    if (random_.chance(0.3)) {
      next_post_ = virtual_now() + random_.between(Duration::zero(), options_.latest);
    }
  }
  int size = -1;
  while (!failed_receive_ && received_ < receives_.size() && ended(receives_[received_], &size)) {
    check(received_++, size);
  }
  return next_post_ > virtual_now() ? next_post_ : kNever;
}

void Job::post_receive() {
  Buffer& buffer = receives_.emplace_back();
  buffer.bytes.resize(options_.messages[receives_.size() - 1] + kSlack);
  const transport::ReceiveBuffer place{buffer.bytes.data(), buffer.bytes.size(), /*tag=*/0, nullptr};
  auto request = receive_->irecv(std::span(&place, 1));
  if (!request || *request == nullptr) {
    receives_.pop_back();
    failed_receive_ = failed_receive_ || !request;
    return;
  }
  buffer.request = *request;
}

void Job::check(std::size_t message, int size) {
  Buffer& buffer = receives_[message];
  const std::vector<std::byte> expected = content(message);
  if (static_cast<std::size_t>(size) != expected.size()) {
    fail(fmt::format("message {} has {} bytes, and {} were sent", message, size, expected.size()));
  } else if (!std::equal(expected.begin(), expected.end(), buffer.bytes.begin())) {
    const auto wrong = std::mismatch(expected.begin(), expected.end(), buffer.bytes.begin()).first;
    fail(
        fmt::format("message {} of {} bytes is wrong from byte {}", message, size, wrong - expected.begin()));
  }
  give_back(buffer);
  received_bytes_ += expected.size();
  longest_stall_ = std::max(longest_stall_, virtual_now() - last_receive_);
  last_receive_ = virtual_now();
}

bool Job::over() const { return done() || (failed_send_ && (failed_receive_ || receive_ == nullptr)); }

std::optional<std::string> Job::error() const {
  if (send_->failed()) {
    return send_->error().message;
  }
  return receive_ != nullptr && receive_->failed() ? std::optional(receive_->error().message) : std::nullopt;
}

void Job::look_at_buffers() {
  for (const auto* buffers : {&sends_, &receives_}) {
    for (std::size_t i = 0; i < buffers->size(); ++i) {
      const Buffer& buffer = (*buffers)[i];
      const bool touched = std::any_of(buffer.bytes.begin(), buffer.bytes.end(),
                                       [](std::byte byte) { return byte != kGivenBack; });
      if (buffer.returned && touched) {
        fail(fmt::format("the buffer of {} {} was written after it was given back",
                         buffers == &sends_ ? "send" : "receive", i));
      }
    }
  }
}

void Job::close() {
  receive_.reset();
  send_.reset();
}

}  // namespace tfabric::simulation::rails
