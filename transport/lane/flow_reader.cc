#include "transport/lane/flow_reader.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "transport/stripe/place.h"

namespace tfabric::lane {

[[gnu::cold]] Status FlowReader::refuse(const Error& error) {
  phase_ = Phase::failed;
  error_ = error;
  return error;
}

Status FlowReader::take(std::span<const std::byte> bytes) {
  while (!bytes.empty() || phase_ == Phase::failed) {
    Result<std::size_t> n = std::size_t{0};
    switch (phase_) {
      case Phase::header:
        n = take_header(bytes);
        break;
      case Phase::zeros:
        n = take_zeros(bytes);
        break;
      case Phase::piece:
        n = take_piece(bytes);
        break;
      case Phase::control:
        n = take_control(bytes);
        break;
      case Phase::failed:
        return error_;
    }
    if (!n) {
      return refuse(n.error());
    }
    bytes = bytes.subspan(*n);
  }
  return {};
}

Result<std::size_t> FlowReader::take_header(std::span<const std::byte> bytes) {
  const std::size_t n = std::min(bytes.size(), kRecordHeaderBytes - have_);
  std::memcpy(header_bytes_.data() + have_, bytes.data(), n);
  have_ += static_cast<std::uint32_t>(n);
  if (have_ < kRecordHeaderBytes) {
    return n;
  }
  const auto header = decode(header_bytes_);
  if (!header) {
    return Error{
        Errc::system,
        "its byte stream has lost its framing: bytes were damaged above TCP, whose checksum they have passed "
        "(a NIC's checksum offload, a host's memory, a driver, a proxy between the hosts), and what came "
        "before them may be wrong, too"};
  }
  header_ = *header;
  if (header_bytes_of(header_) > have_) {
    phase_ = Phase::zeros;
    return n;
  }
  const Status status = start_record();
  return status ? Result<std::size_t>(n) : status.error();
}

Result<std::size_t> FlowReader::take_zeros(std::span<const std::byte> bytes) {
  const std::size_t n = std::min(bytes.size(), kLargePieceHeaderBytes - have_);
  have_ += static_cast<std::uint32_t>(n);
  const Status status = have_ == kLargePieceHeaderBytes ? start_record() : Status();
  return status ? Result<std::size_t>(n) : status.error();
}

Status FlowReader::start_record() {
  have_ = 0;
  taken_ += header_bytes_of(header_);
  if (header_.type == RecordType::piece) {
    return start_piece();
  }
  phase_ = Phase::control;
  if (header_.length == 0) {
    if (const Result<std::size_t> taken = take_control({}); !taken) {
      return taken.error();
    }
  }
  return {};
}

Status FlowReader::start_piece() {
  if (inbox_ == nullptr) {
    return Error{Errc::internal, "the peer sent data on a comm that it should only receive on"};
  }
  const stripe::Arrival arrival = arrival_of(header_);
  const Result<stripe::Inbox::Receive*> receive = inbox_->claim(arrival);
  if (!receive) {
    return receive.error();
  }
  receive_ = *receive;
  if (receive_ != nullptr) {
    target_ = receive_->data + header_.offset;
  } else {
    const Result<std::byte*> aside = inbox_->set_aside(arrival);
    if (!aside) {
      return aside.error();
    }
    target_ = *aside;
  }
  phase_ = Phase::piece;
  return header_.length == 0 ? end_piece() : Status();
}

Result<std::size_t> FlowReader::take_piece(std::span<const std::byte> bytes) {
  const std::size_t n = std::min<std::size_t>(bytes.size(), header_.length - have_);
  stripe::place(target_ + have_, bytes.data(), n);
  if (Status status = advance_piece(n); !status) {
    return status.error();
  }
  return n;
}

Status FlowReader::advance_piece(std::size_t bytes) {
  have_ += static_cast<std::uint32_t>(bytes);
  return have_ == header_.length ? end_piece() : Status();
}

Status FlowReader::placed(std::size_t bytes) {
  assert(bytes <= next_place().size());
  const Status status = advance_piece(bytes);
  return status ? status : refuse(status.error());
}

Status FlowReader::end_piece() {
  have_ = 0;
  taken_ += header_.length;
  phase_ = Phase::header;
  awaited_ = awaited_ || header_.total > stripe::kMaxEagerBytes;
  if (receive_ == nullptr) {
    return inbox_->aside_complete(header_.group);
  }
  inbox_->placed(*receive_, stripe::lines_of(header_.length));
  return {};
}

Result<std::size_t> FlowReader::take_control(std::span<const std::byte> bytes) {
  const std::size_t n = std::min<std::size_t>(bytes.size(), header_.length - have_);
  if (n > 0) {
    std::memcpy(body_.data() + have_, bytes.data(), n);
    have_ += static_cast<std::uint32_t>(n);
  }
  if (have_ == header_.length) {
    have_ = 0;
    taken_ += header_.length;
    phase_ = Phase::header;
    asked_ = asked_ || header_.type == RecordType::ask;
    if (Status status = control_->on_control(header_, std::span(body_).first(header_.length)); !status) {
      return status.error();
    }
  }
  return n;
}

std::uint64_t FlowReader::bury() {
  std::uint64_t position = taken_;
  if (phase_ == Phase::piece && receive_ == nullptr) {
    inbox_->drop_aside(header_.group);
  } else if (phase_ == Phase::piece) {
    const std::uint32_t whole = have_ / stripe::kLineBytes * stripe::kLineBytes;
    inbox_->give_back(*receive_, header_.offset + whole, header_.length - whole);
    if (whole > 0) {
      inbox_->placed(*receive_, whole / stripe::kLineBytes);
    }
    position += whole;
  }
  phase_ = Phase::failed;
  error_ = {Errc::internal, "the peer sent data on a connection that it had closed"};
  return position;
}

}  // namespace tfabric::lane
