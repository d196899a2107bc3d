#include "transport/comm/recv_comm.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/wire_codec.h"
#include "transport/lane/flow_failure.h"

namespace tfabric::comm {

using lane::Lane;

namespace {

// How a receive is announced.
lane::Announcer::Buffer text_of(const transport::ReceiveBuffer& buffer) {
  const auto* region = static_cast<const Region*>(buffer.region);
  return {.address = reinterpret_cast<std::uint64_t>(buffer.data),
          .size = static_cast<std::uint32_t>(std::min<std::size_t>(buffer.size, UINT32_MAX)),
          .tag = static_cast<std::uint32_t>(buffer.tag),
          .memory = region == nullptr ? nullptr : region->offered.get(),
          .on_host = region == nullptr || region->kind == transport::MemoryKind::host};
}

}  // namespace

RecvComm::RecvComm(const Context& context, bool announces)
    : CommCore(context, /*sends=*/false),
      takes_offers_(announces),
      announcer_(announces || context.options.max_recvs > 1 ? std::make_unique<lane::Announcer>() : nullptr) {
}

RecvComm::~RecvComm() {
  {
    const engine::Guard guard(context_.engine.lock());
    if (key_) {
      context_.peers.comms.remove(*key_, context_.engine.last_turn());
    }
    detach(inbox_.outstanding() > 0 || requests_.posted() != nullptr);
    fail_flushes();
  }
  poke();  // the process may end at any time, and the peer should be told of the end before
  await_rest();
  const engine::Guard guard(context_.engine.lock());
  forget_flushes();
  lanes_.clear();  // before what they write to
}

Status RecvComm::take_lane(std::unique_ptr<Lane>& lane, const session::Hello& hello) {
  if (has_ended()) {
    return Error{Errc::remote, "the comm that it would join has ended"};
  }
  if (graves_.forbids(hello.serial) || lanes_.find(hello.serial) != nullptr) {
    return Error{Errc::internal, fmt::format("its comm has or had a connection {}", hello.serial.value)};
  }
  const std::size_t used = lanes_.open();
  if (used >= session::kMaxLanes) {
    return Error{Errc::internal, fmt::format("the comm that it would join has {} connections", used)};
  }
  lane->attach(*this, *this, &inbox_);
  Lane& taken = adopt(std::move(lane), hello.serial);
  context_.peers.processes.add(*this, hello.witness);
  tell_rails(taken);
  on_joined(taken);
  return {};
}

// The lane carries from here on.
void RecvComm::on_joined(Lane& lane) {
  lane.join();
  most_offered_ = std::max(most_offered_, offered_lanes());
  end_outage();
  for (const stripe::Graves::Grave& grave : graves_.unsettled()) {
    lane.tell(lane::encode_position(lane::RecordType::buried, grave));
  }
  retell();
}

void RecvComm::admit(const session::Hello& first) {
  if (context_.peers.comms.add(first.token, first.comm, *this)) {
    key_ = session::CommTable::Key{session::token_id(first.token), first.comm};
  }
}

// --- user's side

Result<transport::Request*> RecvComm::irecv(std::span<const transport::ReceiveBuffer> buffers) {
  if (failed()) {
    return requests_.after_failure();
  }
  if (buffers.empty() || buffers.size() > context_.options.max_recvs) {
    return Error{Errc::invalid_argument, fmt::format("irecv of {} buffers: 1 to {} can be grouped",
                                                     buffers.size(), context_.options.max_recvs)};
  }
  for (const transport::ReceiveBuffer& buffer : buffers) {
    if (buffer.data == nullptr && buffer.size > 0) {
      return Error{Errc::invalid_argument, fmt::format("irecv of {} bytes to address 0", buffer.size)};
    }
    const auto* region = static_cast<const Region*>(buffer.region);
    if (offers() && buffer.size > 0 && (region == nullptr || !region->covers(buffer.data, buffer.size))) {
      return not_registered("irecv", buffer.data, buffer.size, buffer.region);
    }
  }
  Request* request = requests_.acquire();
  if (request == nullptr) {
    poke();
    return static_cast<transport::Request*>(nullptr);
  }
  std::copy(buffers.begin(), buffers.end(), request->buffers.begin());
  request->completion.count = static_cast<std::uint8_t>(buffers.size());
  enqueue(*request);
  return static_cast<transport::Request*>(request);
}

// --- engine's side

void RecvComm::on_submitted() {
  bool any = false;
  while (Request* next = requests_.posted()) {
    Request& request = *next;
    if (request.flushes) {
      requests_.pop();
      start_flush(request);
      continue;
    }
    if (!failed() && !inbox_.make_room(request.completion.count)) {
      break;  // repeated when a receive is complete
    }
    // Before it is done, which may be at once: then its thread may post it again.
    requests_.pop();
    any = true;
    if (failed()) {
      request.completion.finish(stripe::Completion::State::failed);
    } else if (!post(request)) {
      return;
    }
  }
  if (any && !failed()) {
    announce();
    if (announcer_ == nullptr && report_is_due(/*arrival=*/false)) {
      report_posted();
    }
    if (announcer_ == nullptr && told_ != inbox_.next_group()) {
      tend();  // it is reported later
    }
    if (ended_) {
      conclude();
    }
  }
}

const char* RecvComm::doing() const {
  if (ended_) {
    return "peer has closed";
  }
  if (inbox_.outstanding() > 0) {
    const bool arriving = std::any_of(lanes_.begin(), lanes_.end(), [](const auto& lane) TF_IN_TURN {
      return lane->is_open() && lane->is_mid_record();
    });
    return arriving ? "arriving" : "awaits data";
  }
  return inbox_.has_aside() ? "message, no receive" : "idle";
}

bool RecvComm::post(Request& request) {
  const auto buffers = std::span(request.buffers).first(request.completion.count);
  const stripe::GroupId group = inbox_.next_group();
  // Read before it is posted: what has come early completes it at once, and then the request may be used for
  // another receive by its own thread.
  const bool large = buffers[0].size > stripe::kMaxEagerBytes;
  tag_ = buffers[0].tag;
  for (std::size_t i = 0; announcer_ != nullptr && i < buffers.size(); ++i) {
    announcer_->post(group, i, buffers.size(), text_of(buffers[i]));
  }
  if (const Result<bool> posted = inbox_.post(buffers, &request.completion); !posted) {
    fail(posted.error());  // also this request, and those behind it
    return false;
  }
  large_ = large_ || (large && announcer_ == nullptr);
  return true;
}

// The lane ends.
void RecvComm::forget(Lane& lane) {
  suspicion_.forget(lane);
  note_brought(lane);
  if (announcer_ != nullptr) {
    announcer_->on_ended(lane);
  }
  std::erase(unanswered_, &lane);
}

// Small messages come without a report, whatever they are received into; a sender with another one behind
// them asks. For large ones, it goes with the acknowledgement of what has just arrived, which costs no
// segment of its own; unless the sender knows of no receive that is open, and so may wait.
bool RecvComm::report_is_due(bool arrival) const {
  constexpr std::uint32_t kTogether = stripe::kEagerWindow * 3 / 4;
  const std::uint32_t news = inbox_.posted().value - told_.value;
  const bool large = large_ && inbox_.brings_large();
  return news >= kTogether || is_wanted() || (large && (arrival || news >= inbox_.outstanding()));
}

// The last of several counts, since what is told of it covers those before. A question about the process
// alone names the first receive of all.
void RecvComm::on_ask(stripe::GroupId group) {
  if (!group.precedes(told_) && (!wanted_ || wanted_->precedes(group))) {
    wanted_ = group;
  }
}

void RecvComm::report_posted(Lane* lane) {
  const stripe::GroupId posted = inbox_.posted();
  if (announcer_ != nullptr || ended_ || !told_.precedes(posted)) {
    return;
  }
  lane = lane != nullptr ? lane : suspicion_.speaker();
  const auto record = lane::encode({.type = lane::RecordType::posted, .group = posted});
  if (lane != nullptr && lane->say(record)) {
    told_ = posted;
    told_at_ = context_.engine.last_turn();
    large_ = large_ && posted != inbox_.next_group();
    if (is_wanted()) {
      wanted_.reset();
    }
  }
}

void RecvComm::on_progress(Lane& lane) {
  if (failed() || ended_) {
    return;
  }
  suspicion_.look(lane, context_.engine.last_turn());
  if (!unanswered_.empty()) {
    answer_offers();
  }
  if (lane.is_open()) {
    lane.tell_waiting();
    lane.report();
  }
  if (requests_.posted() != nullptr) {
    on_submitted();
  }
  announce();
  if ((large_ || is_wanted()) && report_is_due(/*arrival=*/true)) {
    report_posted(lane.is_open() && !suspicion_.of(lane) ? &lane : nullptr);
  }
  if (goodbye_) {
    mind_goodbye(context_.engine.last_turn());
  }
  if (!failed() && !ended_ && !goodbye_ && lane.is_open() && lane.is_finished()) {
    on_peer_finished(lane);
  }
}

// The sender has closed the lane in order, so all that it sent on it has arrived. Of a socket that is sure
// only if it has said so: the kernel closes those of a process that has ended, and so do middleboxes that
// have given up.
void RecvComm::on_peer_finished(Lane& lane) {
  if (!lane.is_closed_in_order()) {
    forget(lane);
    lane.close();
    bury(lane);
    if (!lanes_.any_carries()) {
      // Twice as long as a sender that lives takes to dial again, and more.
      constexpr Duration kPatience = std::chrono::seconds(1);
      begin_outage({Errc::remote, fmt::format("{}: {}", lane.name(), lane::process_ended())},
                   context_.engine.last_turn(), kPatience);
    }
    return;
  }
  if (lane.is_mid_record()) {
    fail(Error{Errc::remote, fmt::format("{}: the peer closed it in the middle of a message", lane.name())});
    return;
  }
  graves_.forbid(lane.serial());
  forget(lane);
  lane.close();
  if (!lanes_.any_carries()) {
    begin_outage({Errc::remote, fmt::format("{}: the peer closed it", lane.name())},
                 context_.engine.last_turn());
  } else {
    retell();
  }
}

// Nothing more arrives. Messages that came before their receives still come out.
void RecvComm::end(Error why) {
  if (ended_ || failed()) {
    return;
  }
  ended_ = std::move(why);
  end_outage();
  leave();
  close_lanes();
  on_submitted();  // posts the receives that the engine has not taken yet
  conclude();
}

void RecvComm::conclude() {
  if (ended_ && !failed() && (inbox_.outstanding() > 0 || !inbox_.has_aside())) {
    fail(*ended_);
  }
}

Status RecvComm::on_control(const lane::RecordHeader& header, std::span<const std::byte> body) {
  switch (header.type) {
    case lane::RecordType::bury:
    case lane::RecordType::settled: {
      const auto serial = lane::decode_serial(body);
      if (!serial) {
        return Error{Errc::internal, "the sender sent a malformed record about a connection it has closed"};
      }
      if (header.type == lane::RecordType::bury) {
        on_bury(*serial);
      } else if (Lane* leaving = lanes_.find(*serial); leaving != nullptr) {
        leaving->on_leaving();
      } else {
        graves_.settled(*serial);
      }
      if (announcer_ != nullptr) {
        announcer_->on_released(*serial);
        announce();
      }
      return {};
    }
    case lane::RecordType::goodbye:
      on_peer_closed();
      on_goodbye({Errc::remote, lane::why_over(lane::text_of(body))});
      return {};
    case lane::RecordType::read:
      return on_read(body);
    case lane::RecordType::ask:
      on_ask(header.group);
      return {};
    case lane::RecordType::question:
    case lane::RecordType::answer:
      on_note(header, body);
      return {};
    case lane::RecordType::offer:
      return on_offer(body);
    case lane::RecordType::ready:
      return on_ready(body);
    case lane::RecordType::hello:
    case lane::RecordType::welcome:
    case lane::RecordType::proof:
    case lane::RecordType::piece:
    case lane::RecordType::announce:
    case lane::RecordType::posted:
    case lane::RecordType::buried:
    case lane::RecordType::rail:
    case lane::RecordType::accept:
      return Error{Errc::internal, "the peer sent a control record that a sender does not send"};
  }
  return {};
}

void RecvComm::fail_requests() {
  fail_flushes();
  inbox_.fail();
  on_submitted();
}

}  // namespace tfabric::comm
