#include "transport/tcp/comm/listener.h"

namespace tfabric::tcp {

// --- Pending

Status Pending::take_flow(engine::Flow& flow, const Hello& hello, std::unique_ptr<lane::FlowReader>& reader) {
  const auto [found, fresh] = halves_.try_emplace(hello.comm);
  Half& half = found->second;
  if (fresh) {
    half.comm = std::make_unique<RecvComm>(context_);
    half.flows = hello.flows;
  }
  if (half.flows != hello.flows || half.there.test(hello.flow)) {
    return Error{Errc::internal, "its flow numbers contradict those of its comm"};
  }
  half.there.set(hello.flow);
  half.comm->take(flow, hello, std::move(reader));
  if (half.comm->flow_count() == half.flows) {
    half.comm->admit({hello.token, hello.comm});
    ready_.push_back(std::move(half.comm));
    halves_.erase(found);
    ready_count_.fetch_add(1, std::memory_order_release);
  }
  return {};
}

std::unique_ptr<RecvComm> Pending::take() {
  if (ready_.empty()) {
    return nullptr;
  }
  std::unique_ptr<RecvComm> comm = std::move(ready_.front());
  ready_.pop_front();
  ready_count_.fetch_sub(1, std::memory_order_relaxed);
  return comm;
}

void Pending::abandon() {
  const Error closed{Errc::remote, "the listener was closed before accept()"};
  for (auto& [number, half] : halves_) {
    half.comm->fail_from_outside(closed);
  }
  for (const auto& comm : ready_) {
    comm->fail_from_outside(closed);
  }
}

// --- Listener

Listener::Listener(const Context& context, Acceptor& acceptor, const Token& token)
    : context_(context), acceptor_(&acceptor), token_(token), pending_(std::make_unique<Pending>(context)) {
  const EngineGuard guard(context_.engine.lock());
  acceptor_->add_listener(token_, *pending_);
}

Listener::~Listener() {
  {
    const EngineGuard guard(context_.engine.lock());
    acceptor_->remove_listener(token_);
    pending_->abandon();
  }
  // The comms take the lock themselves.
  pending_.reset();
}

Result<std::unique_ptr<transport::RecvComm>> Listener::accept() {
  if (!pending_->has_ready()) {
    context_.progress.poke();
    if (!pending_->has_ready()) {
      return std::unique_ptr<transport::RecvComm>();
    }
  }
  const EngineGuard guard(context_.engine.lock());
  return std::unique_ptr<transport::RecvComm>(pending_->take());
}

}  // namespace tfabric::tcp
