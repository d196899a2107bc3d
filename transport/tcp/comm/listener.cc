#include "transport/tcp/comm/listener.h"

namespace tfabric::tcp {

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
