// How work requests of the made-up provider reach the other end.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tests/unit/rdma/pairs/made_up_objects.h"

namespace tfabric::rdma::test {

MadeUpVerbs::Qp* MadeUpVerbs::find(std::uint32_t number) const {
  const auto found = pairs_.find(number);
  return found == pairs_.end() ? nullptr : found->second.get();
}

int MadeUpVerbs::post_one(Qp& qp, const ibv_send_wr& wr) {
  if (qp.state != IBV_QPS_RTS && qp.state != IBV_QPS_ERR) {
    violated("work was posted to a queue pair that is not ready to send");
    return EINVAL;
  }
  if (qp.sends_taken == qp.cap.max_send_wr) {
    violated("a send queue overflowed");
    return ENOMEM;
  }
  ++qp.sends_taken;
  Posted& posted = qp.sends.emplace_back();
  posted.wr = wr;
  if (wr.num_sge > 0) {
    posted.sge = wr.sg_list[0];
  }
  if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
    if (posted.sge.length > qp.cap.max_inline_data) {
      violated("more was posted inline than the queue pair takes");
    }
    const auto* from = reinterpret_cast<const std::byte*>(posted.sge.addr);
    posted.inlined.assign(from, from + posted.sge.length);
  } else if (posted.sge.length > 0 &&
             region(posted.sge.lkey, posted.sge.addr, posted.sge.length, /*remote=*/false) == nullptr) {
    violated("memory was sent that is not registered");
  }
  ++qp.last;
  if (qp.state == IBV_QPS_ERR) {
    to_error(qp);
  }
  return 0;
}

void MadeUpVerbs::transmit(Qp& qp) {
  while (qp.state == IBV_QPS_RTS && !qp.hca->dead && qp.sent < qp.last) {
    send_one(qp);
  }
  watch(qp);
}

void MadeUpVerbs::send_one(Qp& qp) {
  const Posted& posted = qp.sends[qp.sent - qp.acknowledged];
  auto packet = std::make_shared<Packet>();
  packet->from = qp.hca;
  const Qp* peer = find(qp.peer);
  packet->to = peer == nullptr ? nullptr : peer->hca;
  packet->sender = qp.qp_num;
  packet->receiver = qp.peer;
  packet->number = qp.sent++;
  packet->wr = posted.wr;
  if (!posted.inlined.empty()) {
    packet->bytes = posted.inlined;
  } else if (posted.sge.length > 0 && posted.wr.opcode != IBV_WR_RDMA_READ) {
    if (may_read && !may_read(posted.sge.addr, posted.sge.length)) {
      violated("memory was sent that may not be read any more");
    }
    const std::byte* const from = reach(posted.sge.addr);
    packet->bytes.assign(from, from + posted.sge.length);
  }
  if (lies_about_credit && packet->bytes.size() == sizeof(std::uint64_t) && !posted.inlined.empty()) {
    std::fill(packet->bytes.begin(), packet->bytes.end(), std::byte{0xff});
  }
  const auto takes =
      Duration(static_cast<Duration::rep>(static_cast<double>(packet->bytes.size()) / bytes_per_ns));
  const Duration held = random_.chance(holds_up) ? draw(longest_hold) : Duration{};
  const Instant first = std::max(qp.last_arrival, now_ + draw(delay) + held);
  qp.last_arrival = first + takes + std::chrono::nanoseconds(1);
  if (packet->bytes.size() > 1) {
    packet->first_part = random_.between(std::uint64_t{1}, packet->bytes.size() - 1);
    packet->first_part_is_there = false;
    at(first, [this, packet] { arrive_first_part(packet); });
  }
  at(qp.last_arrival, [this, packet] { arrive(packet); });
}

// Returns false if the network loses it.
bool MadeUpVerbs::arrives(const Packet& packet) {
  return packet.to != nullptr && !is_cut(*packet.to) && !is_cut(*packet.from);
}

// As an adapter does: while CPUs read what it writes, which no sanitizer is to see.
[[gnu::no_sanitize_thread]] static void place(volatile std::byte* to, const std::byte* from,
                                              std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    to[i] = from[i];
  }
}

void MadeUpVerbs::write(const Packet& packet, std::size_t from, std::size_t until, const Qp* to) {
  if (until == from) {
    return;
  }
  const std::uint64_t address = packet.wr.wr.rdma.remote_addr + from;
  const auto length = static_cast<std::uint32_t>(until - from);
  const Mr* there = region(packet.wr.wr.rdma.rkey, address, length, /*remote=*/true);
  if (there == nullptr || there->context != to->context) {
    violated("a write to memory that is not registered with this adapter");
    return;
  }
  late_writes += to->state == IBV_QPS_ERR || find(packet.sender) == nullptr ? 1 : 0;
  if (may_write && !may_write(address, length)) {
    violated(fmt::format("{} bytes were written where nothing may be", length));
    return;
  }
  place(reach(address), packet.bytes.data() + from, length);
}

void MadeUpVerbs::arrive_first_part(const std::shared_ptr<Packet>& packet) {
  const Qp* to = find(packet->receiver);
  if (to != nullptr && arrives(*packet) && to->peer == packet->sender && packet->number == to->expected &&
      to->state >= IBV_QPS_RTR) {
    write(*packet, 0, packet->first_part, to);
    packet->first_part_is_there = true;
  }
}

void MadeUpVerbs::arrive(const std::shared_ptr<Packet>& packet) {
  Qp* to = find(packet->receiver);
  if (to == nullptr || !arrives(*packet) || to->peer != packet->sender || to->state < IBV_QPS_RTR ||
      packet->number > to->expected || (packet->number == to->expected && !packet->first_part_is_there)) {
    return;
  }
  if (to->state == IBV_QPS_ERR) {  // too late for a notice, not for the bytes
    if (packet->number == to->expected) {
      write(*packet, packet->first_part, packet->bytes.size(), to);
    }
    return;
  }
  if (packet->number == to->expected) {
    const bool notice = packet->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    if (notice && to->receives.empty()) {
      at(now_ + draw(timeout), [this, packet] { arrive(packet); });  // the receiver is not ready
      return;
    }
    write(*packet, packet->first_part, packet->bytes.size(), to);
    ++to->expected;
    if (packet->wr.opcode == IBV_WR_RDMA_READ) {
      ++reads;
      if (region(packet->wr.wr.rdma.rkey, packet->wr.wr.rdma.remote_addr, 1, /*remote=*/true) == nullptr) {
        violated("a read of memory that is not registered");
      }
    }
    if (notice) {
      ++immediates;
      ibv_wc wc{};
      wc.wr_id = to->receives.front();
      wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
      wc.byte_len = static_cast<std::uint32_t>(packet->bytes.size());
      wc.imm_data = packet->wr.imm_data;
      wc.wc_flags = IBV_WC_WITH_IMM;
      to->receives.pop_front();
      enter(*to, /*receive=*/true, wc);
    }
  }
  at(now_ + draw(delay), [this, packet, until = to->expected] {
    if (arrives(*packet)) {
      acknowledge(packet->sender, until);
    }
  });
}

void MadeUpVerbs::acknowledge(std::uint32_t number, std::uint64_t until) {
  Qp* qp = find(number);
  if (qp == nullptr || qp->state != IBV_QPS_RTS || until <= qp->acknowledged) {
    return;
  }
  qp->retries = 0;
  while (qp->acknowledged < until) {
    complete_front(*qp, IBV_WC_SUCCESS);
  }
}

// --- what is not acknowledged

void MadeUpVerbs::watch(Qp& qp) {
  if (!qp.watched && qp.acknowledged < qp.sent) {
    qp.watched = true;
    at(now_ + timeout,
       [this, number = qp.qp_num, progress = qp.acknowledged] { on_timeout(number, progress); });
  }
}

void MadeUpVerbs::on_timeout(std::uint32_t number, std::uint64_t progress) {
  Qp* qp = find(number);
  if (qp == nullptr || qp->state != IBV_QPS_RTS || qp->hca->dead) {
    return;
  }
  qp->watched = false;
  if (qp->acknowledged < qp->sent && qp->acknowledged == progress) {
    if (++qp->retries > retries) {
      fail(*qp, IBV_WC_RETRY_EXC_ERR);
      return;
    }
    qp->sent = qp->acknowledged;
    transmit(*qp);
  }
  watch(*qp);
}

// --- completions

void MadeUpVerbs::enter(Qp& qp, bool receive, ibv_wc wc) {
  auto& cq = static_cast<Cq&>(*qp.send_cq);
  wc.qp_num = qp.qp_num;
  Cq::Entry entry{.wc = wc, .frees_sends = 0, .frees_receives = receive ? 1u : 0u};
  entry.frees_sends = receive ? 0 : std::exchange(qp.unsignalled, 0);
  if (cq.entries.size() + cq.promised >= static_cast<std::size_t>(cq.cqe)) {
    violated("a completion queue overflowed");
    return;
  }
  ++cq.promised;
  qp.last_entry = std::max(qp.last_entry, now_ + draw(completion));
  at(qp.last_entry, [&cq, hca = qp.hca, entry] {
    --cq.promised;
    if (!hca->dead) {
      cq.entries.push_back(entry);
    }
  });
}

void MadeUpVerbs::complete_front(Qp& qp, ibv_wc_status status) {
  const Posted& posted = qp.sends.front();
  ++qp.unsignalled;
  ++qp.acknowledged;
  if (status != IBV_WC_SUCCESS || (posted.wr.send_flags & IBV_SEND_SIGNALED) != 0) {
    ibv_wc wc{};
    wc.wr_id = posted.wr.wr_id;
    wc.status = status;
    enter(qp, /*receive=*/false, wc);
  }
  qp.sends.pop_front();
}

void MadeUpVerbs::fail(Qp& qp, ibv_wc_status status) {
  complete_front(qp, status);
  to_error(qp);
}

void MadeUpVerbs::to_error(Qp& qp) {
  qp.state = IBV_QPS_ERR;
  while (!qp.sends.empty()) {
    complete_front(qp, IBV_WC_WR_FLUSH_ERR);
  }
  while (!qp.receives.empty()) {
    ibv_wc wc{};
    wc.wr_id = qp.receives.front();
    wc.status = IBV_WC_WR_FLUSH_ERR;
    qp.receives.pop_front();
    enter(qp, /*receive=*/true, wc);
  }
}

}  // namespace tfabric::rdma::test
