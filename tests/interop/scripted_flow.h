// Our end of an interop stream: a flow of the engine that goes through a script.
//
// To be called with the engine held, except for the constructor and the accessors at the end.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/interop/script.h"
#include "transport/tcp/link/tcp.h"

namespace tfabric::interop {

class ScriptedFlow final : public engine::FlowHandler, public engine::Acceptor {
 public:
  ScriptedFlow(link::Tcp& tcp, std::vector<Step> script);

  // Accepts a connection, and refuses others once its handshake is done. Until then our own TCP as the peer
  // may try another port.
  bool on_connection(engine::Flow& flow) override;
  std::size_t on_data(engine::Flow& flow, std::span<const std::byte> bytes) override;
  void on_progress(engine::Flow& flow) override;
  void on_failed(engine::Flow& flow, stack::ConnectionError error) override;
  // Takes a flow that this end has opened.
  void adopt(link::TcpFlow& flow) { flow_ = &flow; }
  // Ends steps that no other call ends.
  void on_turn();

  // Returns true if all steps are done, or one cannot be done any more.
  [[nodiscard]] bool over() const { return at_ == script_.size() || !fault_.empty(); }
  [[nodiscard]] nlohmann::json report() const;
  // What went wrong; empty: nothing.
  [[nodiscard]] std::string fault() const;

 private:
  void advance();
  void begin(const Step& step);
  [[nodiscard]] bool done(const Step& step) const;
  void fill();
  void take_facts();
  [[nodiscard]] const Step* current() const { return at_ < script_.size() ? &script_[at_] : nullptr; }

  link::Tcp* tcp_;
  std::vector<Step> script_;
  std::size_t at_ = 0;
  bool begun_ = false;
  Instant began_{};
  Duration last_wait_{};  // of the last step that is done
  link::TcpFlow* flow_ = nullptr;
  bool accepted_ = false;
  std::vector<std::byte> buffer_;
  std::uint64_t sent_ = 0, send_target_ = 0;
  std::uint64_t received_ = 0, receive_target_ = 0;
  std::uint64_t wrong_ = 0;
  std::string fault_;
  nlohmann::json facts_;
};

}  // namespace tfabric::interop
