#include "transport/comm/listener.h"

namespace tfabric::comm {

// --- Pending

Status Pending::take_lane(std::unique_ptr<lane::Lane>& lane, const session::Hello& hello) {
  if (!made_.insert(hello.comm).second) {
    return Error{Errc::remote, "its comm has been closed"};
  }
  auto comm = std::make_unique<RecvComm>(context_, hello.announce);
  if (Status status = comm->take_lane(lane, hello); !status) {
    return status;
  }
  comm->admit(hello);
  ready_.push_back(std::move(comm));
  ready_count_.fetch_add(1, std::memory_order_release);
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
  for (const auto& comm : ready_) {
    comm->fail_from_outside(closed);
  }
}

// --- Listener

Listener::Listener(const Context& context, session::Acceptor& acceptor, const session::Token& token)
    : context_(context), acceptor_(&acceptor), token_(token), pending_(std::make_unique<Pending>(context)) {
  const engine::Guard guard(context_.engine.lock());
  acceptor_->add_listener(token_, *pending_);
}

Listener::~Listener() {
  {
    const engine::Guard guard(context_.engine.lock());
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
  const engine::Guard guard(context_.engine.lock());
  return std::unique_ptr<transport::RecvComm>(pending_->take());
}

}  // namespace tfabric::comm
