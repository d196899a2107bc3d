#include "two_hosts.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "tests/unit/rdma/good.h"

namespace tfabric::rdma::test {
namespace {

config::Rdma wishes_for(const std::string& hca) {
  config::Rdma wishes;
  wishes.hca = *config::HcaList::parse("=" + hca);
  wishes.bootstrap_interface = *config::InterfaceList::parse("=lo");
  wishes.bootstrap_family = config::AddressFamily::ipv4;
  return wishes;
}

// Calls until it returns something.
template <class Make>
auto result_of(Make&& make) {
  for (int i = 0; i < 100'000; ++i) {
    if (auto made = good(make())) {
      return made;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  FAIL("no call gave a result");
  return decltype(good(make()))();
}

}  // namespace

TwoHosts::TwoHosts() : sender_wishes(wishes_for("mlx5_0")), receiver_wishes(wishes_for("mlx5_1")) {
  machine.fake.make_context = [this]() -> ibv_context& { return network.add_hca(); };
  network.follow(monotonic_now);
  machine.add("mlx5_0");
  machine.add("mlx5_1");
  machine.addresses.push_back({.netdev = "lo", .address = gid_of("127.0.0.1"), .prefix_length = 104});
}

void TwoHosts::add_second_hcas() {
  machine.add("mlx5_2");
  machine.add("mlx5_3");
  sender_wishes.hca = *config::HcaList::parse("=mlx5_0,mlx5_2");
  receiver_wishes.hca = *config::HcaList::parse("=mlx5_1,mlx5_3");
}

Verbs TwoHosts::verbs() const {
  Verbs all = machine.fake.verbs();
  const Verbs& data = network.verbs();
  all.alloc_pd = data.alloc_pd;
  all.dealloc_pd = data.dealloc_pd;
  all.reg_mr = data.reg_mr;
  all.reg_mr_iova2 = data.reg_mr_iova2;
  all.reg_dmabuf_mr = nullptr;
  all.dereg_mr = data.dereg_mr;
  all.create_cq = data.create_cq;
  all.destroy_cq = data.destroy_cq;
  all.create_qp = data.create_qp;
  all.modify_qp = data.modify_qp;
  all.destroy_qp = data.destroy_qp;
  return all;
}

config::Config TwoHosts::config_of(const config::Rdma& wishes) const {
  config::Config config;
  config.rdma = wishes;
  config.tcp = tcp;
  config.lock_folder = lock_folder;
  config.observe = observe;
  config.fault.allow = sender_may_fail && &wishes == &sender_wishes;
  return config;
}

void TwoHosts::open() {
  sending = good(open_one(sender_wishes));
  receiving = good(open_one(receiver_wishes));
}

TwoHosts::Half TwoHosts::connect_only(const transport::ConnectOptions& options) {
  std::array<std::byte, transport::kHandleBytes> handle{};
  Half half;
  half.listener = good(receiver().listen(handle, {}));
  half.send = result_of([&] { return sender().connect(handle, options); });
  return half;
}

TwoHosts::Comms TwoHosts::connect(const transport::ConnectOptions& options) {
  Half half = connect_only(options);
  return {.send = std::move(half.send), .receive = result_of([&] { return half.listener->accept(); })};
}

Result<bool> receive_nothing(transport::RecvComm& comm, transport::Request*& request) {
  if (request != nullptr) {
    return request->test(nullptr);
  }
  constexpr std::array<transport::ReceiveBuffer, 1> kNothing{
      {{.data = nullptr, .size = 0, .tag = 0, .region = nullptr}}};
  const auto posted = comm.irecv(kNothing);
  if (!posted) {
    return posted.error();
  }
  request = *posted;
  return false;
}

Result<bool> send_nothing(transport::SendComm& comm, transport::Request*& request) {
  if (request != nullptr) {
    return request->test(nullptr);
  }
  const auto posted = comm.isend(nullptr, 0, 0, nullptr);
  if (!posted) {
    return posted.error();
  }
  request = *posted;
  return false;
}

void exchange(TwoHosts& hosts, TwoHosts::Comms& comms, std::size_t bytes) {
  std::vector<std::byte> out(bytes), in(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    out[i] = static_cast<std::byte>(i * 7 + 1);
  }
  auto* from = good(comms.send->register_memory(out.data(), bytes, transport::MemoryKind::host));
  auto* to = good(comms.receive->register_memory(in.data(), bytes, transport::MemoryKind::host));
  const std::array<transport::ReceiveBuffer, 1> buffers{
      {{.data = in.data(), .size = bytes, .tag = 3, .region = to}}};
  transport::Request *send = nullptr, *receive = nullptr;
  bool sent = false, received = false;
  int size = -1;
  // Bounded by a time that no correct run needs.
  const Instant deadline = monotonic_now() + std::chrono::seconds(120);
  while (!(sent && received) && monotonic_now() < deadline) {
    if (receive == nullptr) {
      receive = good(comms.receive->irecv(buffers));
    } else if (!received) {
      received = good(receive->test(&size));
    }
    if (send == nullptr) {
      send = good(comms.send->isend(out.data(), bytes, 3, from));
    } else if (!sent) {
      sent = good(send->test(nullptr));
    }
    std::this_thread::yield();
  }
  REQUIRE((sent && received));
  REQUIRE(size == static_cast<int>(bytes));
  REQUIRE(in == out);
  REQUIRE(comms.send->deregister_memory(from).ok());
  REQUIRE(comms.receive->deregister_memory(to).ok());
  REQUIRE(hosts.network.violations().empty());
}

bool goes_over_pairs(TwoHosts& hosts, TwoHosts::Comms& comms, std::size_t bytes) {
  const std::uint64_t before = hosts.network.immediates;
  exchange(hosts, comms, bytes);
  return hosts.network.immediates > before;
}

}  // namespace tfabric::rdma::test
