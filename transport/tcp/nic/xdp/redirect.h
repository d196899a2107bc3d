// A kernel's interface whose frames go to AF_XDP sockets of this process.
//
// All of it hangs on file descriptors: the kernel takes it away when the last of them is closed, however the
// processes end, and leaves nothing on the interface.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"
#include "transport/tcp/nic/xdp/part.h"

namespace tfabric::nic::xdp {

class Redirect {
 public:
  // Of the interface's queues 0 to `queues` - 1, to which sockets are added. In the network driver if it can
  // (native mode), else in front of the kernel's stack (generic mode). Errc::unusable, with what to fix.
  static Result<std::unique_ptr<Redirect>> attach(const std::string& interface, std::uint32_t queues);
  // Of a part, by the program that the processes of other parts have attached, or that is attached for them.
  static Result<std::unique_ptr<Redirect>> join(const std::string& interface, const Part& part);
  ~Redirect();
  Redirect(const Redirect&) = delete;
  Redirect& operator=(const Redirect&) = delete;

  // The one of an interface's queue in this process; null: there is none. Threads: it must outlive its use.
  static Redirect* find(unsigned interface_index, std::uint32_t queue);

  // Frames of `queue` go to `socket` from now on, until it is removed.
  [[nodiscard]] Status add(std::uint32_t queue, int socket) const;
  void remove(std::uint32_t queue) const;

  [[nodiscard]] const std::string& interface() const { return interface_; }
  // How frames come here, in words.
  [[nodiscard]] const char* mode() const { return mode_; }

 private:
  struct Link {
    Descriptor descriptor;
    const char* mode;
  };
  struct Queues {
    std::uint32_t first, count;
  };
  struct Place;
  static Result<Place> place_of(const std::string& interface);
  // Nothing: the interface has a program already.
  static Result<std::optional<Link>> link(const Place& place, int code);
  // The link and the program that the interface has. Nothing: none, or not any more.
  struct Joined;
  static Result<std::optional<Joined>> joined(const Place& place);
  static Result<std::optional<Joined>> make_joined(const Place& place);
  static Result<Joined> join_or_make(const Place& place);
  Redirect(const Place& place, Queues queues, Descriptor sockets, Link link);

  std::string interface_;
  unsigned index_;
  Queues queues_;
  Descriptor sockets_;  // the program's map
  Descriptor link_;
  const char* mode_;
  std::optional<Descriptor> multicast_;
  bool whole_ = false;  // nobody else has the link
};

}  // namespace tfabric::nic::xdp
