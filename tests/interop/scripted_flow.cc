#include "tests/interop/scripted_flow.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/interop/stream_pattern.h"

namespace tfabric::interop {
namespace {

// Data stays there until it is acknowledged; a piece is what is queued at once.
constexpr std::size_t kBuffer = 2 << 20, kPiece = 128 << 10;
constexpr std::uint64_t kWithoutEnd = UINT64_MAX;

// Steps whose end no call of the engine reports.
bool is_polled(Verb verb) { return verb == Verb::idle || verb == Verb::stream || verb == Verb::full; }

// The word that scripts have for an error.
std::string_view word_for(stack::ConnectionError error) {
  switch (error) {
    case stack::ConnectionError::refused:
      return "refused";
    case stack::ConnectionError::reset:
      return "reset";
    case stack::ConnectionError::timed_out:
      return "timed_out";
    default:
      return stack::to_string(error);
  }
}

}  // namespace

ScriptedFlow::ScriptedFlow(link::Tcp& tcp, std::vector<Step> script)
    : tcp_(&tcp), script_(std::move(script)), buffer_(kBuffer) {}

bool ScriptedFlow::on_connection(engine::Flow& flow) {
  const bool on_trial = flow_ != nullptr && accepted_ && at_ == 0 && !begun_;
  if ((flow_ != nullptr && !on_trial) || over()) {
    return false;
  }
  if (on_trial) {
    flow_->set_handler(nullptr, 0);
  }
  flow_ = &static_cast<link::TcpFlow&>(flow);
  accepted_ = true;
  flow.set_handler(this, 0);
  return true;
}

std::size_t ScriptedFlow::on_data(engine::Flow& /*flow*/, std::span<const std::byte> bytes) {
  const Step* step = current();
  if (step != nullptr && begun_ && step->verb == Verb::eof) {
    fault_ = fmt::format("{} bytes before the FIN that was expected", bytes.size());
  }
  const std::size_t taken = std::min<std::uint64_t>(bytes.size(), receive_target_ - received_);
  wrong_ += count_wrong(bytes.data(), taken, received_);
  received_ += taken;
  return taken;
}

void ScriptedFlow::on_progress(engine::Flow& flow) {
  const stack::Connection& connection = static_cast<link::TcpFlow&>(flow).connection();
  if (connection.established() || connection.received_all()) {
    advance();
  }
}

void ScriptedFlow::on_failed(engine::Flow& flow, stack::ConnectionError error) {
  take_facts();
  const Step* step = current();
  if (step != nullptr && step->verb == Verb::error && step->word == word_for(error)) {
    last_wait_ = monotonic_now() - (begun_ ? began_ : monotonic_now());
    ++at_;
  } else if (!accepted_ || at_ > 0 || begun_) {
    fault_ = fmt::format("{} failed: {}", flow.describe(), stack::to_string(error));
  }
  flow_ = nullptr;
}

void ScriptedFlow::on_turn() {
  if (flow_ != nullptr && current() != nullptr && is_polled(current()->verb) && begun_) {
    advance();
  }
}

void ScriptedFlow::advance() {
  while (flow_ != nullptr && !over()) {
    const Step& step = *current();
    if (!begun_) {
      begun_ = true;
      began_ = monotonic_now();
      announce("step " + step.text);
      begin(step);
      if (flow_ == nullptr) {
        ++at_;  // reset
        return;
      }
    }
    fill();
    if (!done(step)) {
      return;
    }
    last_wait_ = monotonic_now() - began_;
    begun_ = false;
    send_target_ = sent_;
    receive_target_ = received_;
    ++at_;
  }
  if (flow_ != nullptr) {
    take_facts();
    tcp_->close(*flow_);
    flow_ = nullptr;
  }
}

void ScriptedFlow::begin(const Step& step) {
  switch (step.verb) {
    case Verb::send:
    case Verb::push:
      send_target_ += step.amount;
      break;
    case Verb::both:
      send_target_ += step.amount;
      receive_target_ += step.amount;
      tcp_->resume(*flow_);
      break;
    case Verb::receive:
      receive_target_ += step.amount;
      tcp_->resume(*flow_);
      break;
    case Verb::stream:
      send_target_ = kWithoutEnd;
      break;
    case Verb::drain:
      receive_target_ = kWithoutEnd;
      tcp_->resume(*flow_);
      break;
    case Verb::fin:
      flow_->connection().close();
      tcp_->wake(*flow_);
      break;
    case Verb::reset:
      take_facts();
      tcp_->abort(*flow_);
      flow_ = nullptr;
      break;
    case Verb::eof:
      tcp_->resume(*flow_);
      break;
    case Verb::full:
    case Verb::idle:
    case Verb::error:
      break;
  }
}

bool ScriptedFlow::done(const Step& step) const {
  const stack::Connection& connection = flow_->connection();
  switch (step.verb) {
    case Verb::push:
      return sent_ == send_target_;
    case Verb::send:
      return connection.stream_acked() == send_target_;
    case Verb::both:
      return connection.stream_acked() == send_target_ && received_ == receive_target_;
    case Verb::receive:
      return received_ == receive_target_;
    case Verb::eof:
    case Verb::drain:
      return connection.peer_finished();
    case Verb::full:
      return connection.info().rcv_wnd == 0;
    case Verb::idle:
    case Verb::stream:
      return monotonic_now() - began_ >= std::chrono::milliseconds(step.amount);
    case Verb::error:
      return false;  // on_failed()
    case Verb::fin:
      // The step lasts until all is acknowledged, so that the report counts everything that was sent again.
      return connection.state() == stack::State::fin_wait_2 ||
             connection.state() == stack::State::time_wait || connection.state() == stack::State::closed;
    case Verb::reset:
      return true;
  }
  return true;
}

void ScriptedFlow::fill() {
  stack::Connection& connection = flow_->connection();
  while (sent_ < send_target_) {
    const std::uint64_t n = std::min(kPiece - sent_ % kPiece, send_target_ - sent_);
    if (sent_ + n - connection.stream_acked() > kBuffer) {
      break;
    }
    std::byte* at = buffer_.data() + sent_ % kBuffer;
    fill_pattern(at, n, sent_);
    if (!connection.send({at, static_cast<std::uint32_t>(n), nullptr})) {
      break;
    }
    sent_ += n;
  }
  tcp_->wake(*flow_);
}

void ScriptedFlow::take_facts() {
  const stack::ConnectionInfo info = flow_->connection().info();
  const auto milliseconds = [](Duration d) { return std::chrono::duration<double, std::milli>(d).count(); };
  facts_ = {{"ecn", info.ecn},
            {"retransmitted", info.bytes_retransmitted},
            {"fast_retransmits", info.fast_retransmits},
            {"timeouts", info.timeouts},
            {"tail_probes", info.tail_probes},
            {"undone", info.undone},
            {"out_of_order", info.out_of_order},
            {"mss", info.mss},
            {"srtt_ms", milliseconds(info.srtt)},
            {"pacing_rate", info.pacing_rate},
            {"peer_window_limited_ms", milliseconds(info.peer_window_limited)}};
}

nlohmann::json ScriptedFlow::report() const {
  nlohmann::json report = facts_;
  report["sent"] = sent_;
  report["received"] = received_;
  report["last_wait_ms"] = std::chrono::duration<double, std::milli>(last_wait_).count();
  return report;
}

std::string ScriptedFlow::fault() const {
  if (!fault_.empty()) {
    return fault_;
  }
  if (wrong_ > 0) {
    return fmt::format("{} of {} received bytes are wrong", wrong_, received_);
  }
  if (at_ < script_.size()) {
    return fmt::format("the step {} is not done in time: {} bytes sent, {} received", script_[at_].text,
                       sent_, received_);
  }
  return "";
}

}  // namespace tfabric::interop
