// Memory registered for NICs, with a real IOMMU behind them: run in the lab by guest/tests/dma, with two NICs
// on vfio-pci that are joined. Repeats what unit tests do with a fake IOMMU, and tests what only a driver
// shows.
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <sys/mman.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "base/random.h"
#include "hugepage/registration.h"
#include "transport/tcp/nic/device_memory.h"
#include "transport/tcp/nic/eal.h"
#include "transport/tcp/nic/port.h"

namespace tfabric::nic {
namespace {

using hugepage::Region;
constexpr std::size_t kPage = hugepage::RegionTable::kPageBytes;
constexpr const char* kSender = "0000:00:10.0";
constexpr const char* kReceiver = "0000:00:11.0";

std::unique_ptr<Port> open_nic(const char* address) {
  static const Status started =
      start_eal({.pci_allow = {kSender, kReceiver}, .hugepages = true, .memory_mib = 192});
  INFO((started ? std::string() : started.error().message));
  REQUIRE(started.ok());
  auto port = Port::open({.name = address, .device = address, .mtu = 1500, .rx_buffers = 1024});
  INFO((port ? std::string() : port.error().message));
  REQUIRE(port.ok());
  return std::move(*port);
}

// Retries for as long as an emulated machine may need.
template <class Condition>
bool eventually(const Condition& condition) {
  constexpr int kTries = 60'000;
  for (int i = 0; i < kTries; ++i) {
    if (condition()) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

struct Nics {
  std::unique_ptr<Port> sender = open_nic(kSender);
  std::unique_ptr<Port> receiver = open_nic(kReceiver);
  DeviceMemory memory;
  hugepage::RegionTable table{&memory};

  Nics() {
    memory.add(vfio_container());
    REQUIRE(eventually([&] { return sender->link_up() && receiver->link_up(); }));
  }
  ~Nics() {
    for (Region* region : regions) {
      table.remove(region);
    }
  }
  Nics(const Nics&) = delete;
  Nics& operator=(const Nics&) = delete;

  Region* add(void* data, std::size_t size) {
    const auto region = table.add(data, size);
    REQUIRE(region.ok());
    regions.push_back(*region);
    return *region;
  }
  // The one added at `index` of those that are left.
  void remove(std::size_t index) {
    std::swap(regions[index], regions.back());
    CHECK(table.remove(regions.back()));
    regions.pop_back();
  }

  std::vector<Region*> regions;
};

// Pages of the process, apart from others, filled with a pattern.
class Pages {
 public:
  explicit Pages(std::size_t count, int protection = PROT_READ | PROT_WRITE)
      : bytes_(count * kPage), data_(mmap(nullptr, bytes_, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(data_ != MAP_FAILED);
    if ((protection & PROT_WRITE) != 0) {
      std::iota(data(), data() + bytes_, std::uint8_t{7});
      for (std::size_t i = 0; i < count; ++i) {
        data()[i * kPage] = static_cast<std::uint8_t>(i);
      }
    }
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { munmap(data_, bytes_); }
  [[nodiscard]] std::uint8_t* data() const { return static_cast<std::uint8_t*>(data_); }
  [[nodiscard]] std::size_t size() const { return bytes_; }
  [[nodiscard]] std::uint8_t* page(std::size_t number) const { return data() + number * kPage; }

 private:
  std::size_t bytes_;
  void* data_;
};

constexpr std::uint16_t kEtherType = 0x88b5;  // IEEE 802: for local experiments

// A frame that is only a header.
rte_mbuf* header_frame(Port& from, const net::MacAddress& to) {
  rte_mbuf* head = from.allocate_header();
  REQUIRE(head != nullptr);
  rte_ether_hdr header{};
  std::memcpy(header.dst_addr.addr_bytes, to.bytes.data(), RTE_ETHER_ADDR_LEN);
  std::memcpy(header.src_addr.addr_bytes, from.mac().bytes.data(), RTE_ETHER_ADDR_LEN);
  header.ether_type = rte_cpu_to_be_16(kEtherType);
  std::memcpy(rte_pktmbuf_append(head, sizeof header), &header, sizeof header);
  return head;
}

// A frame whose payload the NIC reads by DMA.
rte_mbuf* frame(Port& from, const Port& to, std::uint8_t* payload, std::uint16_t size,
                rte_mbuf_ext_shared_info& references) {
  rte_mbuf* head = header_frame(from, to.mac());
  rte_mbuf* tail = from.allocate_external();
  REQUIRE(tail != nullptr);
  rte_mbuf_ext_refcnt_update(&references, 1);
  rte_pktmbuf_attach_extbuf(tail, payload, reinterpret_cast<rte_iova_t>(payload), size, &references);
  tail->data_off = 0;
  tail->data_len = size;
  tail->pkt_len = size;
  REQUIRE(rte_pktmbuf_chain(head, tail) == 0);
  return head;
}

// Returns the next frame of ours, skipping others on the wire; null if none comes.
rte_mbuf* next_frame(Port& port) {
  rte_mbuf* found = nullptr;
  eventually([&] {
    std::array<rte_mbuf*, 1> packets{};
    if (port.receive(packets) == 1) {
      const auto* header = rte_pktmbuf_mtod(packets[0], const rte_ether_hdr*);
      if (header->ether_type == rte_cpu_to_be_16(kEtherType)) {
        found = packets[0];
      } else {
        rte_pktmbuf_free(packets[0]);
      }
    }
    return found != nullptr;
  });
  return found;
}

}  // namespace

TEST_CASE("a NIC hears by which multicast IPv6 asks for its address") {
  Nics nics;
  const net::MacAddress solicited_node{{0x33, 0x33, 0xff, 0x00, 0x00, 0x01}};  // RFC 2464 §7, of fd00::1
  std::array<rte_mbuf*, 1> packets{header_frame(*nics.sender, solicited_node)};
  REQUIRE(eventually([&] { return nics.sender->transmit(packets) == 1; }));
  rte_mbuf* got = next_frame(*nics.receiver);
  REQUIRE(got != nullptr);
  rte_pktmbuf_free(got);
}

TEST_CASE("a NIC reads registered memory through the IOMMU") {
  Nics nics;
  const Pages pages(64);
  REQUIRE(nics.add(pages.data(), pages.size())->reachable);
  rte_mbuf_ext_shared_info references{};
  references.free_cb = [](void*, void*) {};
  rte_mbuf_ext_refcnt_set(&references, 1);

  constexpr std::uint16_t kSize = 1400;
  // Within pages and across them.
  for (std::size_t offset = 0; offset + kSize <= pages.size(); offset += kSize + 17) {
    std::array<rte_mbuf*, 1> packets{
        frame(*nics.sender, *nics.receiver, pages.data() + offset, kSize, references)};
    REQUIRE(eventually([&] { return nics.sender->transmit(packets) == 1; }));
    rte_mbuf* got = next_frame(*nics.receiver);
    REQUIRE(got != nullptr);
    REQUIRE(rte_pktmbuf_data_len(got) == sizeof(rte_ether_hdr) + kSize);
    const auto* payload = rte_pktmbuf_mtod_offset(got, const std::uint8_t*, sizeof(rte_ether_hdr));
    CHECK(std::memcmp(payload, pages.data() + offset, kSize) == 0);
    rte_pktmbuf_free(got);
  }
  nics.sender.reset();
  CHECK(rte_mbuf_ext_refcnt_read(&references) == 1);
}

TEST_CASE("memory that the IOMMU refuses is registered all the same, and not reachable") {
  Nics nics;
  const Pages hidden(1, PROT_NONE), good(1);
  const Region* refused = nics.add(hidden.data(), hidden.size());
  CHECK_FALSE(refused->reachable);
  CHECK(nics.add(good.data(), good.size())->reachable);
}

TEST_CASE("registrations overlap and go in any order, and the IOMMU takes their places anew") {
  Nics nics;
  const Pages pages(64);
  SeededRandom random(1);
  for (int round = 0; round < 400; ++round) {
    if (nics.regions.size() == 20 || (!nics.regions.empty() && random.chance(0.5))) {
      nics.remove(random.between(0, nics.regions.size() - 1));
    } else {
      const std::size_t first = random.between(0, 63), count = random.between(1, 64 - first);
      CHECK(nics.add(pages.page(first), count * kPage)->reachable);
    }
  }
  while (!nics.regions.empty()) {
    nics.remove(0);
  }
  CHECK(nics.table.pages() == 0);
  CHECK(nics.add(pages.data(), pages.size())->reachable);
}

TEST_CASE("more registrations than DPDK has room for: the first are reachable, the others are copied") {
  Nics nics;
  constexpr std::size_t kMany = 600;
  const Pages pages(2 * kMany);
  std::size_t reachable = 0;
  for (std::size_t i = 0; i < kMany; ++i) {
    reachable += nics.add(pages.page(2 * i), kPage)->reachable ? 1 : 0;
  }
  WARN(reachable << " separate ranges are reachable, of " << kMany);
  CHECK(reachable > 100);
  while (!nics.regions.empty()) {
    nics.remove(0);
  }
  CHECK(nics.add(pages.data(), kPage)->reachable);
}

}  // namespace tfabric::nic
