#include "tests/bench/kernel/comm.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tfabric::bench {
namespace {

constexpr std::size_t kMinPiece = 64u << 10;
// Up to here a payload follows its header: a second socket would cost more than it brings.
constexpr std::size_t kInlineBytes = 16u << 10;
constexpr std::size_t kReadAhead = 64u << 10;
// From here a payload is read from the control socket straight to its place.
constexpr std::size_t kDirectRead = 8u << 10;

}  // namespace

Comm::Comm(std::vector<int> sockets, bool sending, std::size_t threads)
    : control_(sockets.front()), sending_(sending), input_(sending ? 0 : kReadAhead) {
  for (std::size_t i = 1; i < sockets.size(); ++i) {
    sockets_.push_back(std::make_unique<DataSocket>(sockets[i], sending));
  }
  threads = std::min(threads, sockets_.size());
  for (std::size_t t = 0; t < threads; ++t) {
    std::vector<DataSocket*> own;
    for (std::size_t i = t; i < sockets_.size(); i += threads) own.push_back(sockets_[i].get());
    helpers_.push_back(std::make_unique<Helper>(std::move(own), broken_));
  }
}

Comm::~Comm() {
  helpers_.clear();
  close(control_);
}

bool Comm::on_control(std::size_t size) const { return sockets_.empty() || size <= kInlineBytes; }

Request* Comm::post(void* data, std::size_t size) {
  Request& request = at(posted_);
  if (request.used) return nullptr;
  request.comm = this;
  request.data = static_cast<std::byte*>(data);
  request.size = size;
  request.header = size;
  request.moved = 0;
  request.control_done = false;
  request.used = true;
  ++posted_;
  if (sending_ && !on_control(size)) cut(posted_ - 1);
  progress();
  return &request;
}

void Comm::cut(std::uint64_t message) {
  Request& request = at(message);
  const std::size_t most = std::max<std::size_t>(1, request.size / kMinPiece);
  const std::size_t pieces = std::min(most, sockets_.size());
  const std::size_t length = (request.size + pieces - 1) / pieces;
  request.pieces_left.store(static_cast<std::uint32_t>(pieces), std::memory_order_relaxed);
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    // The first socket changes from message to message, so that short messages use all of them.
    const std::size_t socket = (message + piece) % sockets_.size();
    const std::size_t begin = piece * length;
    sockets_[socket]->push(request.data + begin, std::min(length, request.size - begin),
                           &request.pieces_left);
    if (!helpers_.empty()) helpers_[socket % helpers_.size()]->wake();
  }
}

// Writes the headers and inline payloads of as many messages as one system call takes.
void Comm::send_control() {
  while (control_next_ < posted_) {
    std::array<iovec, 2 * kMaxRequests> pieces;
    std::size_t count = 0;
    for (std::uint64_t message = control_next_; message < posted_; ++message) {
      Request& request = at(message);
      if (request.moved < kHeaderBytes) {
        auto* const header = reinterpret_cast<std::byte*>(&request.header);
        pieces[count++] = {header + request.moved, kHeaderBytes - request.moved};
      }
      const std::size_t sent = request.moved > kHeaderBytes ? request.moved - kHeaderBytes : 0;
      if (on_control(request.size) && request.size > sent) {
        pieces[count++] = {request.data + sent, request.size - sent};
      }
    }
    msghdr gathered{};
    gathered.msg_iov = pieces.data();
    gathered.msg_iovlen = count;
    const ssize_t n = sendmsg(control_, &gathered, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) {
      if (errno != EAGAIN && errno != EINTR) failure_ = Failure::remote;
      return;
    }
    auto left = static_cast<std::size_t>(n);
    while (control_next_ < posted_) {
      Request& request = at(control_next_);
      const std::size_t whole = kHeaderBytes + (on_control(request.size) ? request.size : 0);
      const std::size_t step = std::min(left, whole - request.moved);
      request.moved += step;
      left -= step;
      if (request.moved < whole) break;
      request.control_done = true;
      ++control_next_;
    }
  }
}

bool Comm::refill() {
  if (input_begin_ == input_end_) input_begin_ = input_end_ = 0;
  if (input_end_ == input_.size()) {
    std::memmove(input_.data(), input_.data() + input_begin_, input_end_ - input_begin_);
    input_end_ -= input_begin_;
    input_begin_ = 0;
  }
  const ssize_t n = recv(control_, input_.data() + input_end_, input_.size() - input_end_, MSG_DONTWAIT);
  if (n > 0) {
    input_end_ += static_cast<std::size_t>(n);
    return true;
  }
  if (n == 0 || (errno != EAGAIN && errno != EINTR)) failure_ = Failure::remote;
  return false;
}

bool Comm::receive_header(std::uint64_t message) {
  Request& request = at(message);
  while (input_end_ - input_begin_ < kHeaderBytes) {
    if (!refill()) return false;
  }
  std::memcpy(&request.header, input_.data() + input_begin_, kHeaderBytes);
  input_begin_ += kHeaderBytes;
  request.moved = kHeaderBytes;
  if (request.header > request.size) {
    failure_ = Failure::truncated;
    return false;
  }
  request.size = request.header;
  if (!on_control(request.size)) cut(message);
  return true;
}

bool Comm::receive_payload(Request& request) {
  const std::size_t whole = kHeaderBytes + request.size;
  while (request.moved < whole) {
    std::byte* const to = request.data + (request.moved - kHeaderBytes);
    const std::size_t wanted = whole - request.moved;
    if (input_begin_ < input_end_) {
      const std::size_t n = std::min(wanted, input_end_ - input_begin_);
      std::memcpy(to, input_.data() + input_begin_, n);
      input_begin_ += n;
      request.moved += n;
    } else if (wanted < kDirectRead) {
      if (!refill()) return false;
    } else {
      const ssize_t n = recv(control_, to, wanted, MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) failure_ = Failure::remote;
      if (n <= 0) return false;
      request.moved += static_cast<std::size_t>(n);
    }
  }
  return true;
}

void Comm::receive_control() {
  while (control_next_ < posted_ && failure_ == Failure::none) {
    Request& request = at(control_next_);
    if (request.moved < kHeaderBytes && !receive_header(control_next_)) return;
    if (on_control(request.size) && !receive_payload(request)) return;
    request.control_done = true;
    ++control_next_;
  }
}

void Comm::progress() {
  if (failure() != Failure::none) return;
  if (sending_) {
    send_control();
  } else {
    receive_control();
  }
  if (!helpers_.empty()) return;
  for (auto& socket : sockets_) {
    if (socket->progress() == DataSocket::Outcome::failed) failure_ = Failure::remote;
  }
}

bool Comm::take(Request& request) {
  if (!request.control_done || request.pieces_left.load(std::memory_order_acquire) != 0) return false;
  request.used = false;
  return true;
}

}  // namespace tfabric::bench
