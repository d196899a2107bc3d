// A listener of the TCP transport: a token, under which the acceptor collects comms.
#pragma once

#include "transport/tcp/session/acceptor.h"

namespace tfabric::tcp {

class Listener final : public transport::Listener {
 public:
  Listener(const Context& context, Acceptor& acceptor, const Token& token);
  // Comms that were opened and not accepted are reset: their connectors see an error.
  ~Listener() override;

  Result<std::unique_ptr<transport::RecvComm>> accept() override;

 private:
  Context context_;
  Acceptor* acceptor_;
  Token token_;
  std::unique_ptr<Pending> pending_;
};

}  // namespace tfabric::tcp
