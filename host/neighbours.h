// The MAC addresses of an interface's neighbours, as the kernel knows them (rtnetlink(7)).
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
      pending,  // the kernel is asking
      failed    // it does not answer, or nobody has asked
    };
    Kind kind = Kind::failed;
    std::array<std::uint8_t, 6> mac{};
  };

  // Of an interface in this process's network namespace.
  static Result<Neighbours> open(const std::string& interface);

  // Has the kernel ask for it, unless it knows. Needs the capability NET_ADMIN. Does not wait.
  [[nodiscard]] Status resolve(const config::IpBytes& address);
  // What the kernel knows at the moment.
  [[nodiscard]] Answer find(const config::IpBytes& address);

 private:
  Neighbours(Descriptor socket, int interface) : socket_(std::move(socket)), interface_(interface) {}

  Descriptor socket_;
  int interface_;
  std::uint32_t sequence_ = 0;
};

}  // namespace tfabric::host
