#include "tools/control/waiting_room.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "tools/control/frames.h"
#include "tools/control/greeting.h"
#include "tools/control/limits.h"

namespace tfabric::control {
namespace {

// Best effort: a client that does not read its answer is dropped all the same.
void answer(const Descriptor& connection, const nlohmann::json& message) {
  const std::string frame = frame_of(message);
  static_cast<void>(send(connection.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

// Returns the number of bytes that the frame still lacks, as far as its header is known.
std::size_t missing_of(const std::string& received) {
  if (received.size() < kFrameHeaderBytes) {
    return kFrameHeaderBytes - received.size();
  }
  return kFrameHeaderBytes +
         frame_length(std::span<const char, kFrameHeaderBytes>(received.data(), kFrameHeaderBytes)) -
         received.size();
}

}  // namespace

void WaitingRoom::enter(Descriptor connection, std::string from, Instant now) {
  if (guests_.size() == kMaxGuests) {
    drop_oldest(fmt::format("{} others have arrived since, and it has not greeted", kMaxGuests));
  }
  guests_.push_back({.connection = std::move(connection),
                     .from = std::move(from),
                     .deadline = now + kGreetingTime,
                     .received = {}});
}

bool WaitingRoom::drop_oldest(const std::string& why) {
  if (guests_.empty()) {
    return false;
  }
  refuse(guests_.front(), why);
  guests_.pop_front();
  return true;
}

WaitingRoom::Reading WaitingRoom::read(Guest& guest, std::string& why) {
  std::array<char, kFrameHeaderBytes + kMaxGreetingBytes> bytes;
  for (std::size_t missing = 0; (missing = missing_of(guest.received)) > 0;) {
    if (missing > bytes.size() - guest.received.size()) {
      why = "it does not greet as tfabric does";
      return Reading::refuse;
    }
    const ssize_t n = recv(guest.connection.get(), bytes.data(), missing, MSG_DONTWAIT);
    if (n > 0) {
      guest.received.append(bytes.data(), static_cast<std::size_t>(n));
    } else if (n < 0 && errno == EAGAIN) {
      return Reading::wait;
    } else if (n == 0 || errno != EINTR) {
      why = "it closed the connection before a greeting";
      return Reading::refuse;
    }
  }
  return Reading::complete;
}

std::optional<Descriptor> WaitingRoom::look(Instant now) {
  for (auto guest = guests_.begin(); guest != guests_.end();) {
    Admission admission;
    switch (read(*guest, admission.refusal)) {
      case Reading::wait:
        if (now < guest->deadline) {
          ++guest;
          continue;
        }
        admission.refusal = fmt::format("it has not greeted within {} s", kGreetingTime.count());
        break;
      case Reading::complete: {
        const auto greeting = parse_message(std::string_view(guest->received).substr(kFrameHeaderBytes));
        admission = greeting ? admit(*greeting, invitation_)
                             : Admission{.refusal = "it does not greet as tfabric does", .told = {}};
        break;
      }
      case Reading::refuse:
        break;
    }
    if (admission.refusal.empty()) {
      Descriptor connection = std::move(guest->connection);
      guests_.erase(guest);
      answer(connection, welcome());
      return connection;
    }
    if (admission.told) {
      answer(guest->connection, {{"error", *admission.told}, {"code", static_cast<int>(Errc::remote)}});
    }
    refuse(*guest, admission.refusal);
    guest = guests_.erase(guest);
  }
  return std::nullopt;
}

void WaitingRoom::refuse(const Guest& guest, const std::string& why) {
  ++refused_;
  if (refused_ <= kMaxRefusalLines) {
    report_(fmt::format("a connection from {} is refused: {}{}", guest.from, why,
                        refused_ == kMaxRefusalLines ? "; further ones are refused without a line" : ""));
  }
}

Instant WaitingRoom::next_deadline() const { return guests_.empty() ? kNever : guests_.front().deadline; }

std::vector<int> WaitingRoom::descriptors() const {
  std::vector<int> all;
  for (const Guest& guest : guests_) {
    all.push_back(guest.connection.get());
  }
  return all;
}

}  // namespace tfabric::control
