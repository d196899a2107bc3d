// A kernel's interface whose frames go to AF_XDP sockets of this process.
//
// All of it hangs on file descriptors: the kernel takes it away when the last of them is closed, however the
// process ends, and leaves nothing on the interface.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"
#include "transport/tcp/port/xdp/program.h"

namespace tfabric::port::xdp {

class Redirect {
 public:
  // Of the interface's queues 0 to `queues` - 1, to which sockets are added. In the network driver if it can
  // (native mode), else in front of the kernel's stack (generic mode). Errc::unusable, with what to mend.
  static Result<std::unique_ptr<Redirect>> attach(const std::string& interface, std::uint32_t queues);
  ~Redirect();
  Redirect(const Redirect&) = delete;
  Redirect& operator=(const Redirect&) = delete;

  // The one of an interface of this process; null: there is none. Threads: it must outlive its use.
  static Redirect* find(unsigned interface_index);

  // Frames of `queue` go to `socket` from now on, until it is removed.
  [[nodiscard]] Status add(std::uint32_t queue, int socket) const;
  void remove(std::uint32_t queue) const;

  [[nodiscard]] const std::string& interface() const { return interface_; }
  [[nodiscard]] bool native() const { return native_; }

 private:
  struct Link {
    Descriptor descriptor;
    bool native;
  };
  static Result<Link> link(const std::string& interface, unsigned index, const Program& program);
  Redirect(std::string interface, unsigned index, Program program, Link link, Descriptor multicast);

  std::string interface_;
  unsigned index_;
  Program program_;
  Descriptor link_;
  Descriptor multicast_;
  bool native_;
};

}  // namespace tfabric::port::xdp
