// The MAC addresses of an interface's neighbours, from the kernel's neighbour table (rtnetlink(7)). Not
// thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"
#include "config/address.h"

namespace tfabric::host {

class Neighbours {
 public:
  struct Answer {
    enum class Kind : std::uint8_t {
      known,
      pending,  // the kernel has sent a request and waits for an answer
      failed    // the neighbour does not answer, or the kernel has not sent a request
    };
    Kind kind = Kind::failed;
    bool confirmed = false;  // known: it has answered lately, or is fixed
    bool fixed = false;      // known: an administrator has set it, and the kernel does not ask for it
    std::array<std::uint8_t, 6> mac{};
  };

  // `interface` is in this process's network namespace.
  static Result<Neighbours> open(const std::string& interface);

  // Makes the kernel resolve the address, unless it is known. Needs CAP_NET_ADMIN. Does not wait.
  [[nodiscard]] Status resolve(const config::IpBytes& address);
  // Makes the kernel ask a neighbour that it knows whether it is still there: until it has answered, find()
  // does not return it as confirmed. Fails if the kernel does not know it. Needs CAP_NET_ADMIN. Does not
  // wait.
  [[nodiscard]] Status verify(const config::IpBytes& address);
  // Returns what the kernel knows at the moment.
  [[nodiscard]] Answer find(const config::IpBytes& address);

 private:
  Neighbours(Descriptor socket, int interface) : socket_(std::move(socket)), interface_(interface) {}

  Descriptor socket_;
  int interface_;
  std::uint32_t sequence_ = 0;
};

}  // namespace tfabric::host
