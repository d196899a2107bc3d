#include "transport/tcp/comm/recv_comm.h"

#include <fmt/format.h>

#include <algorithm>

namespace tfabric::tcp {

RecvComm::RecvComm(const Context& context)
    : CommCore(context, &inbox_, "receive"),
      requests_(*this, context.progress),
      announces_(context.options.max_recvs > 1) {}

RecvComm::~RecvComm() {
  {
    const EngineGuard guard(context_.engine.lock());
    if (key_) {
      context_.peers.comms.remove(*key_);
    }
    detach(inbox_.outstanding() > 0 || posted_.front() != nullptr);
  }
  poke();  // the process may end at any time, and the peer should be told of the end before
}

void RecvComm::take(engine::Flow& flow, const Hello& hello, std::unique_ptr<lane::FlowReader> reader) {
  const lane::FlowId number = add_flow(flow, std::move(reader));
  rests_.resize(flow_count());
  rests_[number.value] = {};
  if (hello.flow == 0) {
    announcer_ = number;
  }
}

Status RecvComm::take_flow(engine::Flow& flow, const Hello& hello,
                           std::unique_ptr<lane::FlowReader>& reader) {
  if (failed() || cut_off_) {
    return Error{Errc::remote, "the comm that it would join has failed"};
  }
  std::size_t used = 0;
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    used += flows_[i] != nullptr || !is_free({i}) ? 1 : 0;
  }
  if (used >= kMaxFlows) {
    return Error{Errc::remote, fmt::format("the comm that it would join has {} connections", used)};
  }
  take(flow, hello, std::move(reader));
  return {};
}

void RecvComm::admit(const CommTable::Key& key) {
  if (context_.peers.comms.add(key, *this)) {
    key_ = key;
  }
}

// --- user's side

Result<transport::Request*> RecvComm::irecv(std::span<const transport::ReceiveBuffer> buffers) {
  if (failed()) {
    return post_after_failure(requests_);
  }
  if (buffers.empty() || buffers.size() > context_.options.max_recvs) {
    return Error{Errc::invalid_argument, fmt::format("irecv of {} buffers: 1 to {} can be grouped",
                                                     buffers.size(), context_.options.max_recvs)};
  }
  for (const transport::ReceiveBuffer& buffer : buffers) {
    if (buffer.data == nullptr && buffer.size > 0) {
      return Error{Errc::invalid_argument, fmt::format("irecv of {} bytes to address 0", buffer.size)};
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

Result<transport::MemoryRegion*> RecvComm::register_dmabuf(void*, std::size_t, transport::MemoryKind,
                                                           std::uint64_t, int) {
  return Error{Errc::invalid_argument, "the TCP transport does not take DMA-BUF memory"};
}

// --- engine's side

void RecvComm::on_submitted() {
  bool any = false;
  while (Request* const* next = posted_.front()) {
    Request& request = **next;
    if (failed()) {
      request.completion.finish(lane::Completion::State::failed);
    } else if (!post(request)) {
      break;  // repeated when a receive is complete
    }
    posted_.pop();
    any = true;
  }
  if (any && !failed()) {
    send_announcements();
    resume_flows();
    check_ended();
  }
}

bool RecvComm::post(Request& request) {
  const auto buffers = std::span(request.buffers).first(request.completion.count);
  const lane::GroupId group = inbox_.next_group();
  if (!inbox_.post(buffers, &request.completion)) {
    return false;
  }
  if (announces_) {
    const auto header = lane::encode({.type = lane::RecordType::announce,
                                      .group = group,
                                      .length = static_cast<std::uint32_t>(4 * buffers.size())});
    std::vector<std::byte> record(header.begin(), header.end());
    record.resize(header.size() + 4 * buffers.size());
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      lane::put_u32(&record[header.size() + 4 * i], static_cast<std::uint32_t>(buffers[i].tag));
    }
    announcements_.push_back(std::move(record));
  }
  return true;
}

void RecvComm::send_announcements() {
  engine::Flow* flow = flows_[announcer_.value];
  if (flow == nullptr) {
    announcements_.clear();  // the peer has closed the flow: it sends nothing more
    return;
  }
  while (!announcements_.empty() && lane::send_record(flow->connection(), announcements_.front())) {
    announcements_.pop_front();
    context_.engine.wake(*flow);
  }
}

void RecvComm::resume_flows() {
  // Reading a flow may fail the comm, which then has no flows any more.
  for (std::size_t i = 0; i < flows_.size() && !failed(); ++i) {
    if (flows_[i] == nullptr) {
      Rest& rest = rests_[i];
      rest.taken += read({i}, std::span(rest.bytes).subspan(rest.taken));
      if (rest.taken == rest.bytes.size()) {
        rest = {};
      }
      continue;
    }
    // A message of no bytes may wait in the reader, which has taken its header: the engine then has nothing
    // to deliver that would make the reader go on.
    read({i}, {});
    if (!failed()) {
      context_.engine.resume(*flows_[i]);
    }
  }
}

void RecvComm::on_progress(engine::Flow& flow) {
  if (failed()) {
    return;
  }
  if (!announcements_.empty()) {
    send_announcements();
  }
  if (posted_.front() != nullptr) {
    on_submitted();
  }
  if (flow.connection().peer_finished()) {
    check_ended();
  }
}

// Fails the comm if nothing more can arrive and receives have taken all that has. Lets go of the flows that
// the peer has closed while it goes on with others.
void RecvComm::check_ended() {
  if (failed()) {
    return;
  }
  if (cut_off_) {
    // Every reader has been offered all bytes that were left. Those that wait have come to messages whose
    // receives are not posted yet, so receives that are posted get nothing more.
    if (inbox_.outstanding() > 0 || !any_reader_waiting()) {
      fail(*cut_off_);
    }
    return;
  }
  std::size_t ended = 0;
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    ended += finished({i}) ? 1 : 0;
  }
  if (ended > 0 && !any_reader_waiting()) {
    on_peer_finished(ended);
  }
}

// The peer has closed `ended` flows, and all that it had sent on them is placed.
void RecvComm::on_peer_finished(std::size_t ended) {
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    if (finished({i}) && mid_record({i})) {
      fail(Error{Errc::remote,
                 fmt::format("{}: the peer closed it in the middle of a message", name_of({i}))});
      return;
    }
  }
  if (ended < flows_.size()) {
    let_finished_flows_go();
  } else {
    fail(Error{Errc::remote, fmt::format("{}: the peer closed its communicator", name_of({0}))});
  }
}

void RecvComm::let_finished_flows_go() {
  for (engine::Flow*& flow : flows_) {
    if (flow != nullptr && flow->connection().peer_finished()) {
      context_.engine.close(*flow);
      flow = nullptr;
    }
  }
}

bool RecvComm::is_free(lane::FlowId flow) const {
  const Rest& rest = rests_[flow.value];
  return rest.taken == rest.bytes.size() && !reader_waiting(flow);
}

bool RecvComm::finished(lane::FlowId flow) const {
  if (const engine::Flow* live = flows_[flow.value]; live != nullptr) {
    return live->connection().peer_finished();
  }
  return rests_[flow.value].taken == rests_[flow.value].bytes.size();
}

// Takes the bytes that have arrived and are not read over from a flow that comes to its end. They are
// acknowledged, so the peer's sends may be done, while the receives may be posted much later.
void RecvComm::keep_rest(engine::Flow& flow) {
  stack::Connection& connection = flow.connection();
  std::vector<std::byte>& bytes = rests_[flow.index()].bytes;
  for (auto part = connection.readable(); !part.empty(); part = connection.readable()) {
    bytes.insert(bytes.end(), part.begin(), part.end());
    connection.consume(static_cast<std::uint32_t>(part.size()));
  }
}

// A flow whose FIN has arrived has brought everything: after its FIN, a peer may end its process, which takes
// its link down.
bool RecvComm::survives(engine::Flow& flow) {
  keep_rest(flow);
  if (!flow.connection().received_all()) {
    return false;
  }
  check_ended();
  return true;
}

// The comm gets nothing more, since no flow can replace the one that has failed. It fails once receives have
// taken what all its flows had brought.
void RecvComm::cut_off(Error error) {
  cut_off_ = std::move(error);
  for (engine::Flow*& flow : flows_) {
    if (flow != nullptr) {
      keep_rest(*flow);
      context_.engine.abort(*flow);
      flow = nullptr;
    }
  }
  on_submitted();  // posts the receives that the engine has not taken yet
  if (!failed()) {
    check_ended();
  }
}

Status RecvComm::on_control(const lane::RecordHeader&, std::span<const std::byte>) {
  return Error{Errc::internal, "the peer sent a control record that a sender does not send"};
}

void RecvComm::fail_requests() {
  inbox_.fail();
  on_submitted();
}

}  // namespace tfabric::tcp
