#include "transport/tcp/comm/recv_comm.h"

#include <fmt/format.h>

#include <algorithm>

namespace tfabric::tcp {

RecvComm::RecvComm(const Context& context)
    : CommCore(context, &inbox_, "receive"),
      requests_(*this, context.progress),
      announces_(context.options.max_recvs > 1) {}

RecvComm::~RecvComm() {
  const EngineGuard guard(context_.engine.lock());
  if (key_) {
    context_.peers.comms.remove(*key_);
  }
  detach(inbox_.outstanding() > 0 || posted_.front() != nullptr);
}

bool RecvComm::welcome(engine::Flow& flow, const Hello& hello) {
  return send_copy(flow, encode(Welcome{.flow = hello.flow}));
}

void RecvComm::take(engine::Flow& flow, const Hello& hello, std::unique_ptr<lane::FlowReader> reader) {
  const std::size_t number = add_flow(flow, std::move(reader));
  rests_.resize(flow_count());
  rests_[number] = {};
  if (hello.flow == 0) {
    announcer_ = number;
  }
}

Status RecvComm::join(engine::Flow& flow, const Hello& hello, std::unique_ptr<lane::FlowReader>& reader) {
  if (failed()) {
    return Error{Errc::remote, "the comm that it would join has failed"};
  }
  std::size_t used = 0;
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    used += flows_[i] != nullptr || !is_free(i) ? 1 : 0;
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
    return error();
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
      break;  // taken up again when a receive is complete
    }
    posted_.pop();
    any = true;
  }
  if (any && !failed()) {
    send_announcements();
    resume_flows();
    check_peer_finished();
  }
}

bool RecvComm::post(Request& request) {
  const auto buffers = std::span(request.buffers).first(request.completion.count);
  const std::uint32_t group = inbox_.next_group();
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
  engine::Flow* flow = flows_[announcer_];
  if (flow == nullptr) {
    announcements_.clear();  // there is nobody to announce to
    return;
  }
  while (!announcements_.empty() && send_copy(*flow, announcements_.front())) {
    announcements_.pop_front();
    context_.engine.wake(*flow);
  }
}

void RecvComm::resume_flows() {
  // A flow may fail the comm, which empties the places of all.
  for (std::size_t i = 0; i < flows_.size() && !failed(); ++i) {
    if (flows_[i] == nullptr) {
      Rest& rest = rests_[i];
      rest.taken += read(i, std::span(rest.bytes).subspan(rest.taken));
      continue;
    }
    // A message of no bytes waits in the reader, its header taken: the engine may have nothing left to
    // deliver.
    read(i, {});
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
    check_peer_finished();
  }
}

// The peer's comm is closed for good, and all its messages are placed: what is posted now, and whatever is
// posted later, gets none.
void RecvComm::check_peer_finished() {
  if (failed() || any_reader_waiting()) {
    return;
  }
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    if (!finished(i)) {
      let_finished_flows_go();
      return;
    }
  }
  fail(Error{Errc::remote, fmt::format("{}: the peer closed it", name_of(0))});
}

// The peer has closed them and goes on with the others.
void RecvComm::let_finished_flows_go() {
  for (engine::Flow*& flow : flows_) {
    if (flow != nullptr && flow->connection().peer_finished()) {
      context_.engine.close(*flow);
      flow = nullptr;
    }
  }
}

bool RecvComm::is_free(std::size_t flow) const {
  return rests_[flow].taken == rests_[flow].bytes.size() && !reader_waiting(flow);
}

bool RecvComm::finished(std::size_t flow) const {
  if (flows_[flow] != nullptr) {
    return flows_[flow]->connection().peer_finished();
  }
  return rests_[flow].taken == rests_[flow].bytes.size();
}

// The peer may close and end its process, and its link go down with it, before the last receives are posted:
// its sends are done, so their bytes must arrive.
bool RecvComm::survives(engine::Flow& flow) {
  stack::Connection& connection = flow.connection();
  if (!connection.received_all()) {
    return false;
  }
  std::vector<std::byte>& bytes = rests_[flow.index()].bytes;
  for (auto part = connection.readable(); !part.empty(); part = connection.readable()) {
    bytes.insert(bytes.end(), part.begin(), part.end());
    connection.consume(static_cast<std::uint32_t>(part.size()));
  }
  check_peer_finished();
  return true;
}

Status RecvComm::on_control(const lane::RecordHeader&, std::span<const std::byte>) {
  return Error{Errc::internal, "the peer sent a control record that a sender does not send"};
}

void RecvComm::fail_requests() {
  inbox_.fail();
  on_submitted();
}

}  // namespace tfabric::tcp
