// The kernel's neighbours, for a rail whose interface and addresses are the kernel's as well.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/neighbours.h"
#include "transport/tcp/net/neighbour_source.h"

namespace tfabric::tcp {

class KernelNeighbours final : public net::NeighbourSource {
 public:
  // `rail`: its name, in messages.
  static Result<std::shared_ptr<KernelNeighbours>> open(const std::string& rail,
                                                        const std::string& interface);

  void ask(const net::IpAddress& address) override;
  std::optional<net::Neighbour> next() override;

 private:
  KernelNeighbours(std::string rail, host::Neighbours kernel)
      : rail_(std::move(rail)), kernel_(std::move(kernel)) {}

  std::string rail_;
  host::Neighbours kernel_;
  std::vector<net::IpAddress> wanted_;
  bool told_ = false;
};

}  // namespace tfabric::tcp
