#include "transport/tcp/lane/flow_reader.h"

#include <algorithm>
#include <cstring>

#include "transport/tcp/lane/place.h"

namespace tfabric::lane {

Result<std::size_t> FlowReader::refuse(const Error& error) {
  phase_ = Phase::failed;
  error_ = error;
  return error;
}

Result<std::size_t> FlowReader::take(std::span<const std::byte> bytes) {
  std::size_t taken = 0;
  for (;;) {
    const std::span<const std::byte> rest = bytes.subspan(taken);
    switch (phase_) {
      case Phase::header: {
        if (rest.empty()) {
          return taken;
        }
        taken += take_header(rest);
        if (have_ == kRecordHeaderBytes) {
          if (Status status = start_record(); !status) {
            return refuse(status.error());
          }
        }
        break;
      }
      case Phase::claim: {
        const Result<Inbox::Receive*> receive = inbox_->claim(header_);
        if (!receive) {
          return refuse(receive.error());
        }
        if (*receive == nullptr) {
          return taken;  // it is not posted yet
        }
        begin_piece(**receive);
        break;
      }
      case Phase::piece:
        if (rest.empty()) {
          return taken;
        }
        taken += take_piece(rest);
        break;
      case Phase::control: {
        if (rest.empty() && have_ < header_.length) {
          return taken;
        }
        Result<std::size_t> n = take_control(rest);
        if (!n) {
          return refuse(n.error());
        }
        taken += *n;
        break;
      }
      case Phase::failed:
        return error_;
    }
  }
}

std::size_t FlowReader::take_header(std::span<const std::byte> bytes) {
  const std::size_t n = std::min(bytes.size(), kRecordHeaderBytes - have_);
  std::memcpy(header_bytes_.data() + have_, bytes.data(), n);
  have_ += static_cast<std::uint32_t>(n);
  return n;
}

Status FlowReader::start_record() {
  const auto header = decode(header_bytes_);
  if (!header) {
    return Error{Errc::internal, "the peer's byte stream has lost its framing (bad record header)"};
  }
  header_ = *header;
  have_ = 0;
  if (header_.type != RecordType::piece) {
    phase_ = Phase::control;
    return {};
  }
  if (inbox_ == nullptr) {
    return Error{Errc::internal, "the peer sent data on a comm that it should only receive on"};
  }
  phase_ = Phase::claim;
  return {};
}

void FlowReader::begin_piece(Inbox::Receive& receive) {
  receive_ = &receive;
  if (header_.length == 0) {
    phase_ = Phase::header;
    inbox_->placed(receive, 0);
  } else {
    phase_ = Phase::piece;
  }
}

std::size_t FlowReader::take_piece(std::span<const std::byte> bytes) {
  const std::size_t n = std::min<std::size_t>(bytes.size(), header_.length - have_);
  place(receive_->data + header_.offset + have_, bytes.data(), n);
  have_ += static_cast<std::uint32_t>(n);
  if (have_ == header_.length) {
    have_ = 0;
    phase_ = Phase::header;
  }
  inbox_->placed(*receive_, static_cast<std::uint32_t>(n));
  return n;
}

Result<std::size_t> FlowReader::take_control(std::span<const std::byte> bytes) {
  const std::size_t n = std::min<std::size_t>(bytes.size(), header_.length - have_);
  std::memcpy(body_.data() + have_, bytes.data(), n);
  have_ += static_cast<std::uint32_t>(n);
  if (have_ == header_.length) {
    have_ = 0;
    phase_ = Phase::header;
    if (Status status = control_->on_control(header_, std::span(body_).first(header_.length)); !status) {
      return status.error();
    }
  }
  return n;
}

}  // namespace tfabric::lane
