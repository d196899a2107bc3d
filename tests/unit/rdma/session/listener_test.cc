// Sessions over the kernel's loopback interface.
#include "transport/rdma/session/listener.h"

#include <sys/resource.h>

#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <thread>
#include <vector>

#include "meeting.h"

using namespace tfabric;
using namespace tfabric::rdma::session;
using Catch::Contains;
using tfabric::bootstrap::SocketAddress;

namespace {

// Generous limits for a loaded machine; nothing has to take so long.
constexpr auto kLongEnough = std::chrono::seconds(120);

// Limits the process to few descriptors during its lifetime.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t count) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit fewer{count, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &fewer);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

bool eventually(const std::function<bool()>& condition) {
  const Instant deadline = monotonic_now() + kLongEnough;
  while (!condition()) {
    if (monotonic_now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

struct Host {
  explicit Host(const std::vector<config::IpBytes>& addresses = {ip("127.0.0.1")}) {
    std::array<std::byte, transport::kHandleBytes> bytes{};
    auto opened = Listener::open(addresses, kStepLimit, log, bytes);
    if (!opened) {
      FAIL(opened.error().message);
    }
    listener = std::move(*opened);
    handle = *read_handle(bytes);
  }
  [[nodiscard]] std::unique_ptr<Connector> connector() const {
    return std::make_unique<Connector>(handle, with_queue_pairs(offer_of({roce_rail("a0", "10.0.0.1")})),
                                       kStepLimit);
  }
  RateLimitedLog log;
  std::unique_ptr<Listener> listener;
  Handle handle;
};

Status step_until(Connector& connector, const std::function<bool()>& condition) {
  Status status;
  const bool came = eventually([&] {
    status = connector.step(monotonic_now());
    return !status || condition();
  });
  REQUIRE(came);
  return status;
}

std::unique_ptr<Acceptor> accept_from(Listener& listener) {
  std::unique_ptr<Acceptor> acceptor;
  REQUIRE(eventually([&] { return (acceptor = listener.accept(monotonic_now())) != nullptr; }));
  return acceptor;
}

void meet(Connector& connector, Acceptor& acceptor) {
  const Offer own = offer_of({roce_rail("b0", "10.0.0.2")});
  REQUIRE(acceptor.answer(answer_to(own, *acceptor.agree_on(own))).ok());
  REQUIRE(step_until(connector, [&] { return connector.answered(); }).ok());
  connector.confirm(monotonic_now());
  REQUIRE(step_until(connector, [&] { return connector.finished(); }).ok());
  REQUIRE(eventually([&] {
    REQUIRE(acceptor.step().ok());
    return acceptor.ready();
  }));
}

}  // namespace

TEST_CASE("two ranks meet over loopback, and connecting does not wait for accept()") {
  const Host host;
  REQUIRE(host.listener->accept(monotonic_now()) == nullptr);
  const auto connector = host.connector();
  REQUIRE(step_until(*connector, [&] { return connector->offered(); }).ok());
  const auto acceptor = accept_from(*host.listener);
  meet(*connector, *acceptor);
  REQUIRE(acceptor->offer() == connector->offer());
}

TEST_CASE("two ranks meet over IPv6, and over the second of two addresses") {
  RateLimitedLog log;
  std::array<std::byte, transport::kHandleBytes> bytes{};
  if (!Listener::open(std::vector{ip("::1")}, kStepLimit, log, bytes)) {
    WARN("skipped: this host has no IPv6");
    return;
  }
  const std::vector<std::vector<config::IpBytes>> offers{
      {ip("::1")}, {ip("::1"), ip("127.0.0.1")}, {ip("127.0.0.1"), ip("127.0.0.2")}};
  for (const auto& addresses : offers) {
    const Host host(addresses);
    const auto connector = host.connector();
    REQUIRE(step_until(*connector, [&] { return connector->offered(); }).ok());
    meet(*connector, *accept_from(*host.listener));
  }
}

TEST_CASE("200 connectors at once are all served, among silent connections and others that send garbage") {
  constexpr std::size_t kConnectors = 200, kHalfOpens = 40;
  const Host host;
  const SocketAddress address{host.handle.addresses[0], host.handle.port};
  std::vector<std::unique_ptr<Stream>> strangers;
  std::vector<std::unique_ptr<Connector>> connectors;
  for (std::size_t i = 0; i < kConnectors; ++i) {
    if (i % (kConnectors / kHalfOpens) == 0) {
      strangers.push_back(std::move(*dial_stream(address)));
      const std::string garbage = "SSH-2.0-scanner\r\n";
      if (i % 2 == 0) {
        static_cast<void>(strangers.back()->write(std::as_bytes(std::span(garbage))));
      }
    }
    connectors.push_back(host.connector());
    REQUIRE(connectors.back()->step(monotonic_now()).ok());
  }
  std::vector<std::unique_ptr<Acceptor>> acceptors;
  const Offer own = offer_of({roce_rail("b0", "10.0.0.2")});
  REQUIRE(eventually([&] {
    for (const auto& connector : connectors) {
      const bool answered = connector->answered();
      REQUIRE(connector->step(monotonic_now()).ok());
      if (connector->answered() && !answered) {
        connector->confirm(monotonic_now());
      }
    }
    while (auto acceptor = host.listener->accept(monotonic_now())) {
      REQUIRE(acceptor->answer(answer_to(own, *acceptor->agree_on(own))).ok());
      acceptors.push_back(std::move(acceptor));
    }
    std::size_t ready = 0;
    for (const auto& acceptor : acceptors) {
      REQUIRE(acceptor->step().ok());
      ready += acceptor->ready() ? 1 : 0;
    }
    return ready == kConnectors;
  }));
  REQUIRE(acceptors.size() == kConnectors);
  // The silent connections have time left; the others were dropped.
  REQUIRE(host.listener->half_open() == kHalfOpens / 2);
}

TEST_CASE("a listener that is closed before it accepts is an error to its connectors") {
  Host host;
  const auto waiting = host.connector();
  REQUIRE(step_until(*waiting, [&] { return waiting->offered(); }).ok());
  host.listener.reset();
  REQUIRE_THAT(step_until(*waiting, [] { return false; }).error().message,
               Contains("127.0.0.1 port") && Contains("closed its listener"));
  const auto late = host.connector();
  REQUIRE_THAT(step_until(*late, [] { return false; }).error().message,
               Contains("Connection refused") && Contains("firewall"));
}

TEST_CASE("a process without descriptors left takes the connection once it has some") {
  const Host host;
  const auto connector = host.connector();
  REQUIRE(step_until(*connector, [&] { return connector->offered(); }).ok());
  const DescriptorLimit limit(64);
  std::vector<Descriptor> all;
  do {
    all.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  } while (all.back().get() >= 0);
  REQUIRE(host.listener->accept(monotonic_now()) == nullptr);
  REQUIRE_FALSE(dial_stream({ip("127.0.0.1"), host.handle.port}).ok());
  REQUIRE_FALSE(bootstrap::listen_tcp(host.handle.addresses).ok());
  all.clear();
  REQUIRE(accept_from(*host.listener) != nullptr);
}

TEST_CASE("an address that is none of this host's cannot be listened on, and the error names it") {
  RateLimitedLog log;
  std::array<std::byte, transport::kHandleBytes> bytes{};
  const auto listener = Listener::open(std::vector{ip("192.0.2.1")}, kStepLimit, log, bytes);
  REQUIRE(listener.error().code == Errc::system);
  REQUIRE_THAT(listener.error().message, Contains("cannot listen on 192.0.2.1"));
}
