// Leads frames of a kernel interface to AF_XDP sockets of this process.
//
// All of it depends on file descriptors, which forked children do not keep: the kernel removes it when the
// last of them is closed, however the processes end, and leaves nothing on the interface.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/fork_guard.h"
#include "base/result.h"
#include "transport/tcp/nic/xdp/program.h"

namespace tfabric::nic::xdp {

class Redirect {
 public:
  // Attaches a program for the interface's queues 0 to `queues` - 1, to which sockets are added then. It runs
  // in the network driver if it can (native mode), else in front of the kernel's stack (generic mode).
  // Errc::unusable, with the fix.
  static Result<std::unique_ptr<Redirect>> attach(const std::string& interface, std::uint32_t queues);
  // The same for some of the queues, with the program that processes with other subsets have attached or, if
  // there is none, with one that it attaches for all.
  static Result<std::unique_ptr<Redirect>> join(const std::string& interface, const QueueSubset& subset);
  ~Redirect();
  Redirect(const Redirect&) = delete;
  Redirect& operator=(const Redirect&) = delete;

  // Returns this process's redirect of an interface's queue; null: there is none. Any thread; the caller sees
  // to it that the redirect outlives the use.
  static Redirect* find(unsigned interface_index, std::uint32_t queue);

  // Leads the frames of `queue` to `socket`, until it is removed.
  [[nodiscard]] Status add(std::uint32_t queue, int socket) const;
  void remove(std::uint32_t queue) const;

  [[nodiscard]] const std::string& interface() const { return interface_; }
  // How frames are led here, for the log.
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
  // Attaches a program. Returns none if the interface has a program already.
  static Result<std::optional<Link>> link(const Place& place, int code);
  // A subset program with its link.
  struct Joined;
  // Returns those of the interface; none if it has none, or none any more.
  static Result<std::optional<Joined>> joined(const Place& place);
  // Attaches a subset program. Returns none if the interface has a program already.
  static Result<std::optional<Joined>> make_joined(const Place& place);
  static Result<Joined> join_or_make(const Place& place);
  Redirect(const Place& place, Queues queues, Descriptor sockets, Link link);

  std::string interface_;
  unsigned index_;
  Queues queues_;
  Descriptor sockets_;  // the program's map
  PrivateDescriptor link_;
  const char* mode_;
  std::optional<PrivateDescriptor> multicast_;
  bool whole_ = false;  // attached for all queues: no other process uses the link
};

}  // namespace tfabric::nic::xdp
