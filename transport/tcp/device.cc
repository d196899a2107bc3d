#include "transport/tcp/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"
#include "transport/tcp/handshake.h"
#include "transport/tcp/listener.h"

namespace tfabric::tcp {

Result<std::unique_ptr<transport::Listener>> Device::listen(HandleBytes bytes) {
  Handle handle{.process = rails_.front()->process(),
                .port = context_.engine.port(),
                .max_recvs = context_.options.max_recvs};
  fill_random(handle.token);
  for (const Rail* rail : rails_) {
    if (handle.addresses.size() < kMaxHandleAddresses) {
      handle.addresses.push_back(rail->address());
    }
  }
  write_handle(handle, bytes);
  return std::unique_ptr<transport::Listener>(std::make_unique<Listener>(context_, *greeter_, handle.token));
}

Result<std::unique_ptr<transport::SendComm>> Device::connect(HandleBytes bytes) {
  std::shared_ptr<Attempt> attempt;
  std::uint64_t number = attempt_of(bytes);
  {
    const std::lock_guard guard(mutex_);
    if (const auto found = attempts_.find(number); found != attempts_.end()) {
      attempt = found->second;
    }
  }
  if (attempt == nullptr) {
    Result<Handle> peer = read_handle(bytes);
    if (!peer) {
      return peer.error();
    }
    attempt = std::make_shared<Attempt>(Attempt{std::move(*peer), monotonic_now(), nullptr});
    drop_abandoned();
    const std::lock_guard guard(mutex_);
    number = next_attempt_;
    next_attempt_ += attempt_step_;
    attempts_[number] = attempt;
    set_attempt(bytes, number);
  }
  Result<bool> ready = advance(*attempt);
  if (ready && !*ready) {
    return std::unique_ptr<transport::SendComm>();
  }
  set_attempt(bytes, 0);
  {
    const std::lock_guard guard(mutex_);
    attempts_.erase(number);
  }
  if (!ready) {
    return ready.error();
  }
  return std::unique_ptr<transport::SendComm>(std::move(attempt->comm));
}

void Device::drop_abandoned() {
  const Duration longest = 2 * Duration(context_.options.connect_timeout);
  // Destroyed after the lock is released: that takes the engine's.
  std::vector<std::shared_ptr<Attempt>> abandoned;
  const std::lock_guard guard(mutex_);
  for (auto i = attempts_.begin(); i != attempts_.end() && monotonic_now() - i->second->since > longest;) {
    abandoned.push_back(std::move(i->second));
    i = attempts_.erase(i);
  }
}

std::size_t Device::flow_count(const Handle& peer) const {
  return context_.options.flows * std::max(rails_.size(), peer.addresses.size());
}

Result<bool> Device::advance(Attempt& attempt) {
  if (attempt.comm == nullptr) {
    if (Result<bool> opened = open_flows(attempt); !opened) {
      return opened.error();
    }
  }
  context_.progress.poke();
  if (attempt.comm != nullptr && attempt.comm->failed()) {
    return Error{attempt.comm->error().code,
                 fmt::format("cannot connect to {}: {}", net::to_string(attempt.peer.addresses.front()),
                             attempt.comm->error().message)};
  }
  if (attempt.comm != nullptr && attempt.comm->welcomed()) {
    return true;
  }
  if (monotonic_now() - attempt.since > context_.options.connect_timeout) {
    return explain_timeout(attempt);
  }
  return false;
}

// Opens all flows once every link they need is there. Flow i goes from our rail i to the peer's rail i,
// each counted round.
Result<bool> Device::open_flows(Attempt& attempt) {
  const Handle& peer = attempt.peer;
  const std::size_t count = flow_count(peer);
  const EngineGuard guard(context_.engine.lock());
  std::vector<engine::Link*> links;
  for (std::size_t i = 0; i < count; ++i) {
    const net::IpAddress& address = peer.addresses[i % peer.addresses.size()];
    Result<engine::Link*> link = rails_[i % rails_.size()]->link_to(address, peer.process);
    if (!link) {
      return link.error();
    }
    if (*link == nullptr) {
      return false;
    }
    links.push_back(*link);
  }
  auto comm = std::make_unique<SendComm>(context_, count, peer.max_recvs);
  Hello hello{.token = peer.token, .comm = random_u64(), .flows = static_cast<std::uint16_t>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    const net::IpAddress& address = peer.addresses[i % peer.addresses.size()];
    hello.flow = static_cast<std::uint16_t>(i);
    if (!comm->open_flow(*links[i], address, peer.port, encode(hello))) {
      comm->fail_from_outside(
          {Errc::unusable,
           fmt::format("rail {} cannot reach {}: it has no address of that family, or no free port",
                       rails_[i % rails_.size()]->config().name, net::to_string(address))});
      break;
    }
  }
  attempt.comm = std::move(comm);
  return true;
}

Error Device::explain_timeout(const Attempt& attempt) const {
  return {
      Errc::remote,
      fmt::format(
          "cannot connect to {} port {} over {}: no answer for {} ms. Is the peer alive, does a firewall or "
          "security group let TCP port {} through, are both hosts' rails on one network?",
          net::to_string(attempt.peer.addresses.front()), attempt.peer.port, properties_.name,
          std::chrono::duration_cast<std::chrono::milliseconds>(context_.options.connect_timeout).count(),
          attempt.peer.port)};
}

}  // namespace tfabric::tcp
