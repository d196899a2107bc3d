#include "transport/tcp/link/link_fault.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace tfabric::link {
namespace {

// The most that a link may send at once after it was idle, as the time in which it could have sent it. Longer
// than the interval of look(), so that the rate is reached when turns are late.
constexpr Duration kMostCredit = std::chrono::milliseconds(10);

double bytes_in(Duration time, std::uint64_t bits_per_second) {
  return std::chrono::duration<double>(time).count() * static_cast<double>(bits_per_second) / 8;
}

}  // namespace

LinkFault::LinkFault(std::shared_ptr<engine::Rehearsal> rehearsal)
    : rehearsal_(std::move(rehearsal)), random_(rehearsal_->next_random()) {}

void LinkFault::look(Instant now) {
  rehearsal_->report(now);
  const std::uint64_t before = effect_.rate;
  effect_ = rehearsal_->effect(now);
  now_ = now;
  if (effect_.rate == 0) {
    return;
  }
  if (before == 0) {
    credit_ = 0;
    credited_ = now;
  }
  const double most = std::max(bytes_in(kMostCredit, effect_.rate), 1.0);
  credit_ = std::min(credit_ + bytes_in(now - credited_, effect_.rate), most);
  credited_ = now;
}

std::uint16_t LinkFault::receive(std::span<rte_mbuf*> packets) {
  if (effect_.nothing_in) {
    rte_pktmbuf_free_bulk(packets.data(), static_cast<unsigned>(packets.size()));
    rehearsal_->count_lost(packets.size());
    return 0;
  }
  return lose(packets);
}

std::uint16_t LinkFault::lose_staged(std::span<rte_mbuf*> staged) {
  if (effect_.nothing_out) {
    rte_pktmbuf_free_bulk(staged.data(), static_cast<unsigned>(staged.size()));
    rehearsal_->count_lost(staged.size());
    offered_ = 0;
    lose_late();
  } else {
    offered_ = static_cast<std::uint16_t>(offered_ + lose(staged.subspan(offered_)));
  }
  return offered_;
}

// A super-segment counts as one packet, as it does for the driver.
std::uint16_t LinkFault::lose(std::span<rte_mbuf*> packets) {
  if (effect_.loss == 0) {
    return static_cast<std::uint16_t>(packets.size());
  }
  std::uint16_t kept = 0;
  for (rte_mbuf* packet : packets) {
    if (random_.chance(effect_.loss)) {
      rte_pktmbuf_free(packet);
    } else {
      packets[kept++] = packet;
    }
  }
  rehearsal_->count_lost(packets.size() - kept);
  return kept;
}

std::uint16_t LinkFault::admit(std::span<rte_mbuf* const> staged) {
  if (effect_.driver_stalls) {
    return 0;
  }
  if (effect_.rate == 0) {
    return static_cast<std::uint16_t>(staged.size());
  }
  std::uint16_t count = 0;
  while (count < staged.size() && credit_ > 0) {
    credit_ -= rte_pktmbuf_pkt_len(staged[count++]);
  }
  return count;
}

void LinkFault::refuse(std::span<rte_mbuf* const> packets, std::uint16_t staged) {
  offered_ = staged;
  for (const rte_mbuf* packet : packets) {
    credit_ += rte_pktmbuf_pkt_len(packet);
  }
}

std::uint16_t LinkFault::hold(std::span<rte_mbuf* const> packets) {
  const std::size_t count = std::min(packets.size(), kMostLate - late_.size());
  for (rte_mbuf* packet : packets.first(count)) {
    late_.push_back({.since = now_, .packet = packet});
  }
  return static_cast<std::uint16_t>(count);
}

// What came since look() was called came up to an interval later than that: so much later, or a little more.
bool LinkFault::is_due(const Late& late) const {
  return effect_.delay == Duration::zero() || now_ - late.since >= effect_.delay + config::Fault::kLeast;
}

void LinkFault::release(nic::Port& port) {
  for (bool all = !effect_.driver_stalls; all;) {
    std::array<rte_mbuf*, 64> due;
    std::uint16_t count = 0;
    for (; count < due.size() && count < late_.size() && is_due(late_[count]); ++count) {
      due[count] = late_[count].packet;
    }
    // The port takes no empty burst.
    const std::uint16_t taken = count == 0 ? std::uint16_t{0} : port.transmit(std::span(due).first(count));
    late_.erase(late_.begin(), late_.begin() + taken);
    all = taken == due.size();
  }
}

void LinkFault::lose_late() {
  for (const Late& late : late_) {
    rte_pktmbuf_free(late.packet);
  }
  rehearsal_->count_lost(late_.size());
  late_.clear();
}

}  // namespace tfabric::link
