#include "transport/tcp/comm/comm_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "transport/tcp/comm/flow_failure.h"

namespace tfabric::tcp {

// --- requests

using State = lane::Completion::State;

RequestPool::RequestPool(CommCore& comm, engine::Progress& progress)
    : requests_(std::make_unique<std::array<Request, transport::kMaxRequests>>()) {
  free_.reserve(transport::kMaxRequests);
  for (Request& request : *requests_) {
    request.progress_ = &progress;
    request.comm_ = &comm;
    request.pool_ = this;
    free_.push_back(&request);
  }
}

Request* RequestPool::acquire() {
  if (free_.empty()) {
    return nullptr;
  }
  Request* request = free_.back();
  free_.pop_back();
  request->completion.state.store(State::pending, std::memory_order_relaxed);
  request->completion.count = 1;
  return request;
}

Result<bool> Request::test(int* sizes) {
  State state = completion.state.load(std::memory_order_acquire);
  if (state == State::pending) {
    progress_->poke();
    state = completion.state.load(std::memory_order_acquire);
  }
  if (state == State::pending) {
    return false;
  }
  if (state == State::done && sizes != nullptr) {
    for (std::size_t i = 0; i < completion.count; ++i) {
      sizes[i] = static_cast<int>(completion.sizes[i]);
    }
  }
  pool_->release(*this);
  if (state == State::failed) {
    return comm_->report();
  }
  return true;
}

Result<transport::Request*> CommCore::post_after_failure(RequestPool& pool) {
  if (reported_) {
    return error();
  }
  Request* request = pool.acquire();
  if (request != nullptr) {
    request->completion.finish(State::failed);
  }
  return static_cast<transport::Request*>(request);
}

// --- flows

CommCore::CommCore(const Context& context, lane::Inbox* inbox, const char* direction)
    : context_(context), inbox_(inbox), direction_(direction) {}

lane::FlowId CommCore::add_flow(engine::Flow& flow, std::unique_ptr<lane::FlowReader> reader) {
  std::size_t number = 0;
  while (number < flows_.size() && (flows_[number] != nullptr || !is_free({number}))) {
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
  return {number};
}

std::string CommCore::name_for(const engine::Flow& flow) const {
  return fmt::format("{} connection {} over rail {}", direction_, flow.describe(),
                     flow.link().interface().config().name);
}

std::size_t CommCore::on_data(engine::Flow& flow, std::span<const std::byte> bytes) {
  return read(id_of(flow), bytes);
}

std::size_t CommCore::read(lane::FlowId flow, std::span<const std::byte> bytes) {
  if (failed()) {
    return bytes.size();
  }
  Result<std::size_t> taken = readers_[flow.value]->take(bytes);
  if (!taken) {
    fail(Error{taken.error().code, fmt::format("{}: {}", name_of(flow), taken.error().message)});
    return bytes.size();
  }
  return *taken;
}

void CommCore::on_failed(engine::Flow& flow, stack::ConnectionError error) {
  flows_[flow.index()] = nullptr;
  if (failed() || survives(flow)) {
    return;
  }
  timed_out_ = error == stack::ConnectionError::timed_out && !flow.link().is_away();
  cut_off(failure_of(flow, error));
}

Error CommCore::failure_of(const engine::Flow& flow, stack::ConnectionError error) const {
  return {Errc::remote,
          fmt::format("{}: {}", name_of(id_of(flow)), why_failed(flow, error, in_use(), monotonic_now()))};
}

void CommCore::fail_if_silent() {
  for (std::size_t i = 0; i < flows_.size() && !failed(); ++i) {
    if (flows_[i] != nullptr && (flows_[i]->link().is_away() || context_.engine.is_silent(*flows_[i]))) {
      fail(failure_of(*flows_[i], stack::ConnectionError::unreachable));
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

// --- memory

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
    // Requests that the engine has not taken yet are outstanding too.
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
