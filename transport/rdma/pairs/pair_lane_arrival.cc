// What comes over a pair, as its lane takes it.
#include <fmt/format.h>

#include <span>

#include "transport/lane/record.h"
#include "transport/rdma/pairs/pair_lane.h"
#include "transport/stripe/inbox.h"

namespace tfabric::rdma::pairs {

void PairLane::on_immediate(std::uint32_t immediate, std::uint32_t bytes) {
  on_news();
  const Status taken = take(decode(immediate), bytes);
  if (!taken && is_open() && events_ != nullptr) {
    events_->on_fault(*this, taken.error());
  }
}

Status PairLane::take(const Immediate& immediate, std::uint32_t bytes) {
  if (immediate.kind == Kind::whole && inbox_ != nullptr) {
    const stripe::GroupId group = group_near(inbox_->next_group(), immediate.group);
    return take_whole(group, {}, bytes);
  }
  const std::optional<Notice> notice = pair_->notice(immediate.slot);
  if (!notice) {
    return Error{Errc::internal, fmt::format("{}: an immediate came without its notice", name())};
  }
  if (immediate.kind == Kind::record) {
    return take_record(*notice);
  }
  if (immediate.kind == Kind::batch) {
    return take_batch(notice->get<Batch>());
  }
  const auto piece = notice->get<Descriptor>();
  if (immediate.kind != Kind::piece || inbox_ == nullptr || piece.offset > piece.total ||
      piece.length > piece.total - piece.offset) {
    return Error{Errc::internal, fmt::format("{}: a malformed piece came", name())};
  }
  return take_piece({.group = {piece.group},
                     .index = {piece.index},
                     .tag = piece.tag,
                     .offset = piece.offset,
                     .length = piece.length,
                     .total = piece.total});
}

Status PairLane::take_whole(stripe::GroupId group, stripe::ReceiveIndex index, std::uint32_t bytes) {
  if (const auto whole = inbox_->arrival_of(group, index, bytes)) {
    return take_piece(*whole);
  }
  return Error{Errc::internal,
               fmt::format("{}: a message came for receive {}, which is not open", name(), group.value)};
}

Status PairLane::take_batch(const Batch& batch) {
  if (inbox_ == nullptr || batch.count > Batch::kMost) {
    return Error{Errc::internal, fmt::format("{}: a malformed batch came", name())};
  }
  Status taken;
  for (std::size_t i = 0; i < batch.count && taken; ++i) {
    taken = take_whole({batch.group}, {batch.indices[i]}, batch.sizes[i]);
  }
  return taken;
}

Status PairLane::take_piece(const stripe::Arrival& piece) {
  const Result<stripe::Inbox::Receive*> receive = inbox_->claim(piece);
  if (!receive) {
    return receive.error();
  }
  if (*receive == nullptr) {
    return Error{Errc::internal, fmt::format("{}: a piece came for receive {}, which is not posted", name(),
                                             piece.group.value)};
  }
  brought_ = true;
  traffic_->received_bytes += piece.length;
  inbox_->placed(**receive, stripe::lines_of(piece.length));
  return {};
}

// Nothing that is said on a lane which has ended matters.
Status PairLane::take_record(const Notice& notice) {
  const auto bytes = std::span(notice.body).first(kMaxRecordBytes);
  const auto header = lane::decode(bytes.first<lane::kRecordHeaderBytes>());
  if (!header || notice.length > kMaxRecordBytes ||
      notice.length != lane::kRecordHeaderBytes + header->length || header->type == lane::RecordType::piece) {
    return Error{Errc::internal, fmt::format("{}: a malformed record came", name())};
  }
  if (header->type == lane::RecordType::ask) {
    pair_->give_credit();
    post();
  }
  return is_open() ? control_->on_control(*header, bytes.subspan(lane::kRecordHeaderBytes, header->length))
                   : Status{};
}

// The peer waits for room rarely, and a doubt asks; a message's end is confirmed by the adapters.
void PairLane::report() {}

}  // namespace tfabric::rdma::pairs
