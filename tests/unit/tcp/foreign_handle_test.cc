// What a rank says when its peer's handle is of another network.
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "config/address.h"
#include "transport/handle_envelope.h"
#include "transport/this_rank.h"

using namespace tfabric;
using namespace tfabric::transport;
using Catch::Contains;

namespace {

constexpr std::uint8_t kVersion = 1;

using HandleArray = std::array<std::byte, kHandleBytes>;

std::string refused(const HandleArray& handle) { return check_handle(kVersion, handle).error().message; }

// A handle of NCCL's own networks begins with the address at which the peer listens.
template <class Address>
HandleArray nccl_handle(const Address& address) {
  HandleArray handle{};
  std::memcpy(handle.data(), &address, sizeof address);
  return handle;
}

sockaddr_in v4(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(0x0a000006);
  return address;
}

std::string host() {
  std::array<char, 256> name{};
  REQUIRE(gethostname(name.data(), name.size() - 1) == 0);
  return name.data();
}

}  // namespace

TEST_CASE(
    "a rank whose peer uses another network names its own host, and the peer's address if it is NCCL's") {
  REQUIRE_THAT(refused({}), Contains("the peer uses another network. Here, ") &&
                                Contains(" on " + host() + " uses tfabric, and its peer does not"));
  REQUIRE_THAT(
      refused(nccl_handle(v4(41000))),
      Contains(" on " + host() + " uses tfabric, and its peer at 10.0.0.6, as it seems, NCCL's own"));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(41000);
  const auto bytes = config::address_bytes("fd00::6");
  std::memcpy(&v6.sin6_addr, bytes.data(), bytes.size());
  REQUIRE_THAT(refused(nccl_handle(v6)), Contains("its peer at fd00::6"));
}

TEST_CASE("what is not like an address is not taken for one") {
  REQUIRE_THAT(refused(nccl_handle(v4(0))), Contains("its peer does not"));
  HandleArray noise;
  noise.fill(std::byte{0xa5});
  REQUIRE_THAT(refused(noise), Contains("its peer does not"));
  HandleArray own{};
  seal_handle(kVersion, own);
  REQUIRE(check_handle(kVersion, own));
  own[7] ^= std::byte{1};
  REQUIRE_THAT(refused(own), Contains("its peer does not"));
}

TEST_CASE("the rank in the job is the launcher's, and the innermost launcher's") {
  REQUIRE(rank_in({}).empty());
  REQUIRE(rank_in({{"RANK", "3"}, {"SLURM_PROCID", "1"}}) == "rank 3 (RANK)");
  REQUIRE(rank_in({{"SLURM_PROCID", "1"}}) == "rank 1 (SLURM_PROCID)");
  REQUIRE(rank_in({{"RANK", "gold"}, {"PMI_RANK", "2"}}) == "rank 2 (PMI_RANK)");
}
