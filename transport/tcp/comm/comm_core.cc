#include "transport/tcp/comm/comm_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace tfabric::tcp {

CommCore::CommCore(const Context& context, lane::Inbox* inbox, const char* direction)
    : context_(context), inbox_(inbox), direction_(direction) {}

std::size_t CommCore::add_flow(engine::Flow& flow, std::unique_ptr<lane::FlowReader> reader) {
  std::size_t number = 0;
  while (number < flows_.size() && (flows_[number] != nullptr || !is_free(number))) {
    ++number;
  }
  if (number == flows_.size()) {
    flows_.emplace_back();
    names_.emplace_back();
    readers_.emplace_back();
  }
  reader->attach(*this, inbox_);
  flow.set_handler(this, number);
  flows_[number] = &flow;
  names_[number] = name_for(flow);
  readers_[number] = std::move(reader);
  return number;
}

std::string CommCore::name_for(const engine::Flow& flow) const {
  return fmt::format("{} connection {}", direction_, flow.describe());
}

std::size_t CommCore::on_data(engine::Flow& flow, std::span<const std::byte> bytes) {
  return read(flow.index(), bytes);
}

std::size_t CommCore::read(std::size_t flow, std::span<const std::byte> bytes) {
  if (failed()) {
    return bytes.size();
  }
  Result<std::size_t> taken = readers_[flow]->take(bytes);
  if (!taken) {
    fail(Error{taken.error().code, fmt::format("{}: {}", name_of(flow), taken.error().message)});
    return bytes.size();
  }
  return *taken;
}

void CommCore::on_failed(engine::Flow& flow, stack::ConnectionError error) {
  const std::size_t index = flow.index();
  flows_[index] = nullptr;
  if (!failed() && survives(flow)) {
    return;
  }
  if (!failed()) {
    timed_out_ = error == stack::ConnectionError::timed_out;
  }
  fail(failure_of(index, error));
}

Error CommCore::failure_of(std::size_t flow, stack::ConnectionError error) const {
  return {Errc::remote, fmt::format("{}: {}", name_of(flow), stack::to_string(error))};
}

void CommCore::fail_if_silent() {
  for (std::size_t i = 0; i < flows_.size() && !failed(); ++i) {
    if (flows_[i] != nullptr && context_.engine.is_silent(*flows_[i])) {
      fail(failure_of(i, stack::ConnectionError::unreachable));
    }
  }
}

bool CommCore::any_reader_waiting() const {
  return std::any_of(readers_.begin(), readers_.end(), [](const auto& reader) { return reader->waiting(); });
}

void CommCore::enqueue(Request& request) {
  const bool queued = posted_.push(&request);
  assert(queued);
  static_cast<void>(queued);
  context_.engine.submit(*this);
}

void CommCore::fail(Error error) {
  if (failed()) {
    return;
  }
  error_ = std::move(error);
  failed_.store(true, std::memory_order_release);
  end_flows();
  fail_requests();
}

void CommCore::end_flows() {
  for (engine::Flow*& flow : flows_) {
    if (flow != nullptr) {
      context_.engine.abort(*flow);
      flow = nullptr;
    }
  }
}

void CommCore::detach(bool outstanding) {
  context_.engine.take_submissions();
  if (outstanding) {
    end_flows();
    context_.engine.drain_payload();
    return;
  }
  for (engine::Flow*& flow : flows_) {
    if (flow != nullptr) {
      context_.engine.close(*flow);
      flow = nullptr;
    }
  }
}

bool CommCore::send_copy(engine::Flow& flow, std::span<const std::byte> bytes) {
  constexpr std::size_t kPiece = stack::Connection::kInlineBytes;
  const auto pieces = static_cast<std::uint32_t>((bytes.size() + kPiece - 1) / kPiece);
  stack::Connection& connection = flow.connection();
  if (!connection.can_send_ranges(pieces) || connection.send_room() < bytes.size()) {
    return false;
  }
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), kPiece);
    const bool sent = connection.send_inline(bytes.first(n));
    assert(sent);
    static_cast<void>(sent);
    bytes = bytes.subspan(n);
  }
  return true;
}

Result<transport::MemoryRegion*> CommCore::register_region(void* data, std::size_t size,
                                                           transport::MemoryKind kind) {
  if (kind != transport::MemoryKind::host) {
    return Error{Errc::invalid_argument,
                 "the TCP transport registers host memory only: it offers no GPUDirect"};
  }
  Result<hugepage::Region*> shared = context_.regions.add(data, size);
  if (!shared) {
    return shared.error();
  }
  auto* region = new Region;
  region->shared = *shared;
  region->data = data;
  region->size = size;
  return static_cast<transport::MemoryRegion*>(region);
}

Status CommCore::deregister_region(transport::MemoryRegion* region) {
  if (region == nullptr) {
    return {};
  }
  const std::unique_ptr<Region> owned(static_cast<Region*>(region));
  {
    const EngineGuard guard(context_.engine.lock());
    // What is posted and not yet seen counts as outstanding too.
    context_.engine.take_submissions();
    if (!failed() && uses(owned->data, owned->size)) {
      fail(Error{
          Errc::invalid_usage,
          fmt::format("{} comm: memory was deregistered while requests on it were outstanding", direction_)});
    }
    context_.engine.drain_payload();
  }
  context_.regions.remove(owned->shared);
  return {};
}

}  // namespace tfabric::tcp
