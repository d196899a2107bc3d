#include "tests/unit/comm/unix_carrier.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace tfabric::comm::test {
namespace {

constexpr std::uint32_t kBuffer = 4u << 20;

Descriptor make_socket() { return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

void set_nonblocking(int socket) { ::fcntl(socket, F_SETFL, O_NONBLOCK); }

sockaddr_un address_of(const std::string& folder, std::uint16_t port) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = folder + "/" + std::to_string(port);
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

}  // namespace

UnixFlow::UnixFlow(UnixCarrier& carrier, Descriptor socket, std::uint64_t number)
    : Flow(carrier, *this, nullptr, 0), socket_(std::move(socket)), number_(number) {
  set_nonblocking(socket_.get());
}

bool UnixFlow::send(const engine::Payload& range) {
  queue_.push_back({.data = range.data, .size = range.size, .copy = {}});
  owed_ = written_ += range.size;
  return true;
}

bool UnixFlow::send_inline(std::span<const std::byte> bytes) {
  queue_.push_back({.data = nullptr, .size = bytes.size(), .copy = {bytes.begin(), bytes.end()}});
  owed_ = written_ += bytes.size();
  return true;
}

bool UnixFlow::send_report(std::span<const std::byte> record) {
  const std::uint64_t owed = owed_;
  send_inline(record);
  owed_ = owed;  // nothing is reported of it
  return true;
}

bool UnixFlow::on_report(std::uint64_t position) {
  if (position > written_) {
    return false;
  }
  confirmed_ = std::max(confirmed_, position);
  return true;
}

std::uint32_t UnixFlow::send_room() const {
  return static_cast<std::uint32_t>(kBuffer - std::min<std::uint64_t>(written_ - confirmed_, kBuffer));
}

engine::ConnectionInfo UnixFlow::info() const {
  engine::ConnectionInfo info;
  info.state = engine::State::established;
  info.bytes_sent = written_;
  info.delivered = info.carried = info.bytes_acked = confirmed_;
  info.bytes_received = received_;
  return info;
}

void UnixFlow::read(Instant now) {
  std::array<std::byte, 64u << 10> buffer;
  const ssize_t n = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (n < 0) {
    if (errno != EAGAIN) {
      fail();
    }
    return;
  }
  progressed_at_ = now;
  received_ += static_cast<std::uint64_t>(n);
  finished_ = finished_ || n == 0;
  if (n > 0 && handler_ != nullptr) {
    handler_->on_data(*this, std::span(buffer).first(static_cast<std::size_t>(n)));
  }
  if (handler_ != nullptr) {
    handler_->on_progress(*this);
  }
}

void UnixFlow::write() {
  while (!queue_.empty()) {
    const Range& range = queue_.front();
    const std::byte* data = range.data == nullptr ? range.copy.data() : range.data;
    const ssize_t n = ::send(socket_.get(), data + begun_, range.size - begun_, MSG_NOSIGNAL);
    if (n < 0) {
      if (errno != EAGAIN) {
        fail();
      }
      return;
    }
    begun_ += static_cast<std::size_t>(n);
    if (begun_ == range.size) {
      queue_.pop_front();
      begun_ = 0;
    }
  }
  over_ = over_ || closing_;
}

void UnixFlow::fail() {
  over_ = true;
  queue_.clear();
  if (engine::FlowHandler* handler = std::exchange(handler_, nullptr)) {
    handler->on_failed(*this, engine::ConnectionError::reset);
  }
}

void UnixFlow::close() {
  handler_ = nullptr;
  closing_ = true;
}

void UnixFlow::abort(std::string_view /*reason*/) {
  handler_ = nullptr;
  closing_ = true;
  queue_.clear();
}

// --- the carrier

UnixCarrier::UnixCarrier(engine::Engine& engine, std::string folder, std::uint16_t port)
    : StreamCarrier({.answers_without_process = true,
                     .end_means_closed = false,
                     .reset_says_why = false,
                     .refusal_means_gone = true,
                     .retries_at_once = false,
                     .shows_packets = false}),
      engine_(&engine),
      folder_(std::move(folder)),
      listening_(make_socket()) {
  const sockaddr_un address = address_of(folder_, port);
  if (::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listening_.get(), 16) != 0) {
    throw std::runtime_error(std::strerror(errno));
  }
  set_nonblocking(listening_.get());
}

UnixFlow& UnixCarrier::add(Descriptor socket) {
  return *flows_.emplace_back(std::make_unique<UnixFlow>(*this, std::move(socket), ++last_number_));
}

engine::Flow* UnixCarrier::connect(const net::IpAddress& /*remote*/, std::uint16_t port,
                                   engine::FlowHandler* handler, std::size_t index) {
  Descriptor socket = make_socket();
  const sockaddr_un address = address_of(folder_, port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return nullptr;
  }
  UnixFlow& flow = add(std::move(socket));
  flow.set_handler(handler, index);
  return &flow;
}

bool UnixCarrier::receive(Instant now) {
  for (int socket; (socket = ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
    UnixFlow& flow = add(Descriptor(socket));
    if (!engine_->acceptor()->on_connection(flow)) {
      flow.abort({});
    }
  }
  std::size_t next = 0;
  while (next < flows_.size()) {  // which may grow meanwhile
    UnixFlow& flow = *flows_[next++];
    if (flow.handler() != nullptr && !flow.finished_) {
      flow.read(now);
    }
  }
  return false;
}

bool UnixCarrier::send(Instant /*now*/, bool /*quiet*/) {
  std::size_t next = 0;
  while (next < flows_.size()) {  // as above
    if (UnixFlow& flow = *flows_[next++]; !flow.over_) {
      flow.write();
    }
  }
  std::erase_if(flows_, [](const auto& flow) { return flow->over_; });
  return false;
}

void UnixCarrier::cut() {
  std::size_t next = 0;
  while (next < flows_.size()) {  // as above
    flows_[next++]->fail();
  }
}

}  // namespace tfabric::comm::test
