#include "transport/socket/socket_flow.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "transport/bootstrap/socket.h"
#include "transport/socket/socket_carrier.h"
#include "transport/stripe/message.h"

namespace tfabric::socket {
namespace {

// What one flow may read or write in a turn, so that the others have theirs: NCCL's largest step at once,
// since each call that ends within a message costs a turn.
constexpr std::size_t kBytesPerTurn = 1u << 20;
// So much of a piece and more is read to its place by the kernel, whose copy does not say in which order its
// lines become visible; NCCL's own network does so, too. Less goes through a buffer, and is placed in order.
constexpr std::size_t kDirect = 32u << 10;
constexpr std::size_t kBeyond = 4096;
constexpr std::size_t kRangesPerCall = 64;
// How often the kernel is asked about what nothing waits for: smaller messages are copied
// (stripe/copy_pool.h).
constexpr Duration kUnhurried = std::chrono::microseconds(500);
// How long a flow that was closed here waits for the peer's end of the stream. To close a socket on which
// something comes in resets it, and the peer would lose what it has not read.
constexpr Duration kPatience = std::chrono::seconds(1);
// With bytes outstanding and no sign of the peer for so long, the kernel is asked what it knows.
constexpr Duration kQuiet = std::chrono::milliseconds(20);
// How long a socket that is bound to its interface may dial in vain: the kernel has repeated its SYN once,
// after a second (RFC 6298).
constexpr Duration kBoundPatience = std::chrono::milliseconds(1500);
// What ends sooner was not waited for.
constexpr Duration kSilence = std::chrono::milliseconds(900);
// The kernel's time-outs are at least ten times as long as those of our own TCP, so each counts for two
// (stripe/watch.h).
constexpr std::uint32_t kWeight = 2;

}  // namespace

const std::string SocketFlow::no_reason_;

SocketFlow::SocketFlow(SocketCarrier& carrier, PrivateDescriptor socket, bool connected,
                       engine::FlowHandler* handler, std::size_t index)
    : Flow(carrier, *this, handler, index),
      owner_(&carrier),
      socket_(std::move(socket)),
      phase_(connected ? Phase::open : Phase::connecting),
      ahead_(kBeyond),
      readable_(connected),
      writable_(connected),
      since_(carrier.now()),
      progressed_at_(carrier.now()) {
  int left = 0;
  ends_ = ends_of(socket_.get());
  tells_ = ::ioctl(socket_.get(), SIOCOUTQ, &left) == 0;
  bound_ = bootstrap::is_bound_to_interface(socket_.get());
}

std::string SocketFlow::describe() const { return to_string(ends_); }

std::string SocketFlow::why_unreachable(Instant /*now*/) const {
  return errno_ == 0 ? std::string() : fmt::format("{} (rail {})", std::strerror(errno_), carrier().name());
}

// --- sending

std::uint32_t SocketFlow::send_room() const {
  const std::uint64_t held = written_ - confirmed_, most = owner_->limits().send_buffer;
  return phase_ <= Phase::open && held < most ? static_cast<std::uint32_t>(most - held) : 0;
}

bool SocketFlow::send(const engine::Payload& range) {
  if (send_room() < range.size || queue_.free() == 0) {
    return false;
  }
  queue_.push(range.data, range.size);
  note_written(range.size);
  if (range.size > stripe::kMaxEagerBytes) {
    awaited_ = written_;
  }
  return true;
}

bool SocketFlow::send_inline(std::span<const std::byte> bytes) {
  if (send_room() < bytes.size() || queue_.free() == 0) {
    return false;
  }
  queue_.push_copy(bytes);
  note_written(bytes.size());
  return true;
}

void SocketFlow::owe_report() { owner_->owes_report(*this); }

bool SocketFlow::send_report(std::span<const std::byte> record) {
  if (send_room() < record.size() || queue_.free() == 0) {
    return false;
  }
  queue_.push_copy(record);
  written_ += record.size();
  return true;
}

void SocketFlow::note_written(std::size_t bytes) {
  if (!awaits_peer()) {
    busy_since_ = owner_->now();
  }
  written_ += bytes;
  owed_ = written_;
}

bool SocketFlow::on_report(std::uint64_t position) {
  if (position > written_ || (position < confirmed_ && !direct_)) {
    return false;
  }
  if (!direct_) {  // else its kernel has more
    confirm(position, owner_->now());
  }
  return true;
}

void SocketFlow::confirm(std::uint64_t position, Instant now) {
  if (position > confirmed_) {
    progressed_at_ = now;
    timeouts_ = 0;
  }
  const bool awaited = awaits_peer();
  confirmed_ = position;
  if (awaited && !awaits_peer()) {
    busy_ += now - busy_since_;
  }
}

void SocketFlow::set_direct() {
  direct_ = true;
  owner_->look_at(*this);
}

// One short system call, which a connection that was reset still answers as it was then.
void SocketFlow::ask(Instant now) {
  if (!direct_ || phase_ != Phase::open || confirmed_ == written_ ||
      (confirmed_ >= awaited_ && now - asked_at_ < kUnhurried)) {
    return;
  }
  asked_at_ = now;
  int left = 0;  // that the kernel has, and the peer's has not acknowledged
  if (::ioctl(socket_.get(), SIOCOUTQ, &left) != 0) {
    return;
  }
  const std::uint64_t arrived = written_ - queue_.bytes() - static_cast<std::uint64_t>(left);
  if (arrived > confirmed_ && arrived <= written_) {
    confirm(arrived, now);
    owner_->has_news(*this);
  }
}

void SocketFlow::acknowledge_at_once() {
  acknowledges_ = true;
  wake();
}

void SocketFlow::wake() { owner_->want_write(*this); }

bool SocketFlow::write(Instant now) {
  bool any = false;
  std::size_t budget = kBytesPerTurn;
  while (phase_ != Phase::connecting && writable_ && !has_failed() && budget > 0 && !queue_.empty()) {
    std::array<iovec, kRangesPerCall> ranges;
    msghdr message{};
    message.msg_iov = ranges.data();
    const WriteQueue::Batch batch = queue_.fill(ranges, budget);
    message.msg_iovlen = batch.ranges;
    // The kernel sends what fills no segment at once, unless it hears that more is about to follow.
    const int flags = MSG_DONTWAIT | MSG_NOSIGNAL | (batch.all ? 0 : MSG_MORE);
    const ssize_t sent = batch.ranges == 1
                             ? ::send(socket_.get(), ranges[0].iov_base, ranges[0].iov_len, flags)
                             : ::sendmsg(socket_.get(), &message, flags);
    if (sent > 0) {
      queue_.written(static_cast<std::size_t>(sent));
      budget -= static_cast<std::size_t>(sent);
      any = true;
    } else if (errno == EAGAIN) {
      writable_ = false;
      blocked_since_ = now;
      window_limited_ = view_of(socket_.get()).window_limited;
    } else if (errno != EINTR) {
      fail(errno);
    }
  }
  if (std::exchange(acknowledges_, false) && !any) {
    constexpr int kOnce = 2;  // an even number: later ones are held again (tcp(7), TCP_QUICKACK)
    bootstrap::set_option(socket_.get(), IPPROTO_TCP, TCP_QUICKACK, kOnce);
  }
  if (phase_ == Phase::closing && queue_.empty()) {
    static_cast<void>(::shutdown(socket_.get(), SHUT_WR));
    phase_ = Phase::finished;
    since_ = now;
  }
  return any;
}

// --- receiving

bool SocketFlow::read(std::span<std::byte> scratch, Instant now) {
  if (!rest_.empty()) {
    deliver({});
    if (!rest_.empty()) {
      return false;
    }
  }
  bool any = false;
  // What has come before the end or a reset is read whole: nothing of it can come again.
  for (std::size_t budget = kBytesPerTurn; (budget > 0 || hung_up_) && readable_ && phase_ != Phase::over;) {
    const std::size_t got = read_once(scratch, now);
    any = any || got > 0 || finished_ || has_failed();
    budget -= std::min(budget, got);
  }
  return any;
}

// Reads to its place what is left of a large piece, and into the buffer what follows it or is left of a small
// one: little where large pieces follow each other, since they would be copied again from there, and ever
// more while small ones come.
std::size_t SocketFlow::read_once(std::span<std::byte> scratch, Instant now) {
  engine::FlowHandler* const handler = handler_;
  std::span<std::byte> place = handler != nullptr ? handler->next_place(*this) : std::span<std::byte>();
  std::size_t beyond = kBeyond;
  if (place.size() >= kDirect) {
    place = place.first(std::min(place.size(), kBytesPerTurn));
    ahead_ = kBeyond;
  } else {
    beyond = place.size() + ahead_;
    place = {};
  }
  scratch = scratch.first(std::min(scratch.size(), beyond));
  std::array<iovec, 2> ranges{{{place.data(), place.size()}, {scratch.data(), scratch.size()}}};
  msghdr message{};
  message.msg_iov = ranges.data();
  message.msg_iovlen = ranges.size();
  const ssize_t result = place.empty() ? ::recv(socket_.get(), scratch.data(), scratch.size(), MSG_DONTWAIT)
                                       : ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
  if (result <= 0) {
    readable_ = result < 0 && errno == EINTR;
    if (result == 0) {
      finished_ = true;
    } else if (errno != EAGAIN && errno != EINTR) {
      fail(errno);
    }
    return 0;
  }
  const auto got = static_cast<std::size_t>(result);
  progressed_at_ = now;
  received_ += got;
  // A short read has emptied the socket, unless its end has come.
  readable_ = hung_up_ || got == place.size() + scratch.size();
  if (handler != nullptr && !place.empty()) {
    handler->on_placed(*this, std::min(got, place.size()));
  }
  if (got > place.size()) {
    deliver(scratch.first(got - place.size()));
  }
  if (place.empty() && got == scratch.size()) {
    ahead_ = std::min(2 * ahead_, kDirect);  // of a large piece that begins there, enough is left
  }
  return got;
}

// The handler may hand the flow to another one, close it or abort it.
void SocketFlow::deliver(std::span<const std::byte> bytes) {
  std::vector<std::byte> kept;
  if (!rest_.empty()) {
    kept.swap(rest_);
    kept.insert(kept.end(), bytes.begin(), bytes.end());
    bytes = kept;
  }
  while (!bytes.empty() && handler_ != nullptr) {
    const std::size_t taken = handler_->on_data(*this, bytes);
    bytes = bytes.subspan(taken);
    if (taken == 0) {
      rest_.assign(bytes.begin(), bytes.end());
      return;
    }
  }
}

void SocketFlow::consume(std::uint32_t n) {
  rest_.erase(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(n));
}

// What comes from now on is dropped before the kernel acknowledges it.
void SocketFlow::read_out() {
  if (phase_ != Phase::open) {
    return;
  }
  sock_filter drop{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = 0};
  const sock_fprog program{.len = 1, .filter = &drop};
  static_cast<void>(::setsockopt(socket_.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program));
  std::array<std::byte, 16u << 10> buffer;
  for (;;) {
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) {
      rest_.insert(rest_.end(), buffer.begin(), buffer.begin() + got);
    } else if (got == 0 || errno != EINTR) {
      break;
    }
  }
}

// --- life

void SocketFlow::on_event(std::uint32_t events, Instant now) {
  hung_up_ = hung_up_ || (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
  if (phase_ == Phase::connecting && (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) {
    connected(now);
  }
  if ((events & EPOLLOUT) != 0 && !writable_ && phase_ != Phase::connecting) {
    note_blocked(now);
    writable_ = true;
  }
  readable_ = readable_ || (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
}

// Of a connection on which nothing was awaited, nothing is known before the kernel's first question.
Instant SocketFlow::silent_since() const {
  const SocketLimits& limits = owner_->limits();
  return progressed_at_ + (awaits_peer() ? Duration::zero() : limits.keepalive_idle);
}

// The kernel has taken no more since the last time, because of the network or of the peer's window: the part
// of the latter does not count.
void SocketFlow::note_blocked(Instant now) {
  if (writable_ || blocked_since_ == Instant{}) {
    return;
  }
  const Duration by_window = view_of(socket_.get()).window_limited - window_limited_;
  blocked_ += std::max<Duration>(now - blocked_since_ - by_window, Duration::zero());
  blocked_since_ = now;
  window_limited_ += by_window;
}

void SocketFlow::connected(Instant now) {
  if (const int error = bootstrap::dial_error(socket_.get()); error != 0) {
    fail(error);
    return;
  }
  phase_ = Phase::open;
  since_ = progressed_at_ = now;
  ends_ = ends_of(socket_.get());
}

// The new socket gets the number of the old one, which is closed by that.
bool SocketFlow::restart(const PrivateDescriptor& socket) {
  if (::dup3(socket.get(), socket_.get(), O_CLOEXEC) < 0) {
    return false;
  }
  bound_ = false;
  since_ = owner_->now();
  return true;
}

bool SocketFlow::ends_in_silence(Instant now) const {
  const bool heard = error_ == engine::ConnectionError::refused || has_brought();
  return !heard && (phase_ == Phase::connecting || written_ > 0) && now - since_ >= kSilence;
}

void SocketFlow::fail(int number) {
  const bool unreachable = number == ETIMEDOUT || number == EHOSTUNREACH || number == ENETUNREACH;
  if (phase_ == Phase::connecting && unreachable && owner_->dial_unbound(*this)) {
    return;
  }
  if (!has_failed()) {
    errno_ = number;
    error_ = error_of(number);
    owner_->has_news(*this);
  }
}

void SocketFlow::close() {
  handler_ = nullptr;
  if (phase_ == Phase::connecting || has_failed()) {
    owner_->end(*this);
  } else if (phase_ == Phase::open) {
    phase_ = Phase::closing;
    since_ = owner_->now();
    wake();
  }
}

// Without a reason the connection is reset, so that the peer sees at once that it is gone. A reason travels
// in a record that the user has queued before, and a reset could overtake it.
void SocketFlow::abort(std::string_view reason) {
  handler_ = nullptr;
  if (!reason.empty()) {
    write(owner_->now());
  } else {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    static_cast<void>(::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
  }
  owner_->end(*this);
}

void SocketFlow::look(Instant now) {
  if (bound_ && !lives_ && has_brought()) {
    lives_ = true;
    owner_->on_life(*this);
  }
  if (phase_ == Phase::connecting && now - since_ >= kBoundPatience && owner_->dial_unbound(*this)) {
    return;
  }
  if (phase_ == Phase::connecting && now - since_ >= owner_->limits().connect_timeout) {
    fail(ETIMEDOUT);
  } else if ((phase_ == Phase::finished && (finished_ || now - since_ >= kPatience)) ||
             (phase_ == Phase::closing && now - since_ >= owner_->limits().user_timeout)) {
    owner_->end(*this);
  } else if (phase_ == Phase::open) {
    note_blocked(now);
    if (!has_all_arrived() && now - progressed_at_ >= kQuiet) {
      look_closely();
    }
  }
}

// Reports of ours are never confirmed by the peer: of these, its kernel's acknowledgement is the last word.
void SocketFlow::look_closely() {
  const KernelView view = view_of(socket_.get());
  if (queue_.empty() && !view.outstanding) {
    delivered_ = written_;
  }
  if (const std::uint32_t timeouts = kWeight * view.timeouts_in_row; timeouts != timeouts_) {
    timeouts_ = timeouts;
    owner_->has_news(*this);
  }
}

engine::ConnectionInfo SocketFlow::info() const {
  const Instant now = owner_->now();
  engine::ConnectionInfo info;
  info.state = phase_ == Phase::connecting ? engine::State::syn_sent
               : phase_ == Phase::open     ? engine::State::established
                                           : engine::State::fin_wait_1;
  const KernelView view = view_of(socket_.get());
  info.srtt = view.srtt;
  info.rttvar = view.rttvar;
  info.min_rtt = view.min_rtt;
  info.rto = view.rto;
  info.mss = view.mss;
  info.cwnd = view.cwnd;
  info.bytes_retransmitted = view.retransmitted;
  info.delivered = info.bytes_acked = confirmed_;
  info.carried = std::max(confirmed_, view.last.acked);
  info.bytes_sent = written_;
  info.bytes_received = received_;
  info.busy = busy_ + (awaits_peer() ? now - busy_since_ : Duration{});
  info.peer_window_limited = view.window_limited;
  info.network_limited = blocked_;
  info.in_network = view.busy - view.window_limited;
  return info;
}

}  // namespace tfabric::socket
