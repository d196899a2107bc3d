// What comes over a pair, as its lane takes it.
#include <fmt/format.h>

#include <span>

#include "transport/lane/record.h"
#include "transport/rdma/pairs/pair_lane.h"
#include "transport/stripe/inbox.h"

namespace tfabric::rdma::pairs {

bool PairLane::wrong(const Error& why) {
  if (is_open() && events_ != nullptr) {
    events_->on_fault(*this, why);
  }
  return false;
}

bool PairLane::wrong(std::string_view what) {
  return wrong(Error{Errc::internal, fmt::format("{}: {}", name(), what)});
}

inline bool PairLane::take_claimed(const Result<stripe::Inbox::Receive*>& receive, stripe::GroupId group,
                                   std::uint32_t bytes) {
  if (!receive) {
    return wrong(receive.error());
  }
  if (*receive == nullptr) {
    return wrong(fmt::format("a message came for receive {}, which is not open", group.value));
  }
  brought_ = true;
  traffic_->received_bytes += bytes;
  inbox_->placed(**receive, stripe::lines_of(bytes));
  return true;
}

bool PairLane::take_piece(const Descriptor& piece) {
  if (inbox_ == nullptr || piece.offset > piece.total || piece.length > piece.total - piece.offset) {
    return wrong("a malformed piece came");
  }
  const stripe::GroupId group{piece.group};
  return take_claimed(inbox_->claim({.group = group,
                                     .index = {piece.index},
                                     .tag = piece.tag,
                                     .offset = piece.offset,
                                     .length = piece.length,
                                     .total = piece.total}),
                      group, piece.length);
}

inline bool PairLane::take_whole(stripe::GroupId group, stripe::ReceiveIndex index, std::uint32_t bytes) {
  return take_claimed(inbox_->claim_whole(group, index, bytes), group, bytes);
}

bool PairLane::take_batch(const Batch& batch) {
  if (inbox_ == nullptr || batch.count > Batch::kMost) {
    return wrong("a malformed batch came");
  }
  bool taken = true;
  for (std::size_t i = 0; i < batch.count && taken; ++i) {
    taken = take_whole({batch.group}, {batch.indices[i]}, batch.sizes[i]);
  }
  return taken;
}

// Nothing that is said on a lane which has ended matters.
bool PairLane::take_record(const Notice& notice) {
  const auto bytes = std::span(notice.body).first(kMaxRecordBytes);
  const auto header = lane::decode(bytes.first<lane::kRecordHeaderBytes>());
  if (!header || notice.length > kMaxRecordBytes ||
      notice.length != lane::kRecordHeaderBytes + header->length || header->type == lane::RecordType::piece) {
    return wrong("a malformed record came");
  }
  if (header->type == lane::RecordType::ask) {
    pair_->give_credit();
    post();
  }
  if (!is_open()) {
    return true;
  }
  const Status said = control_->on_control(*header, bytes.subspan(lane::kRecordHeaderBytes, header->length));
  return said || wrong(said.error());
}

inline bool PairLane::take(const Immediate& immediate, std::uint32_t bytes) {
  if (immediate.kind == Kind::whole && inbox_ != nullptr) {
    return take_whole(group_near(inbox_->next_group(), immediate.group), {}, bytes);
  }
  const std::optional<Notice> notice = pair_->notice(immediate.slot);
  if (!notice) {
    return wrong("an immediate came without its notice");
  }
  if (immediate.kind == Kind::record) {
    return take_record(*notice);
  }
  if (immediate.kind == Kind::batch) {
    return take_batch(notice->get<Batch>());
  }
  return immediate.kind == Kind::piece ? take_piece(notice->get<Descriptor>())
                                       : wrong("a malformed piece came");
}

void PairLane::on_immediate(std::uint32_t immediate, std::uint32_t bytes) {
  on_news();
  take(decode(immediate), bytes);
}

// The peer waits for room rarely, and a doubt asks; a message's end is confirmed by the adapters.
void PairLane::report() {}

}  // namespace tfabric::rdma::pairs
