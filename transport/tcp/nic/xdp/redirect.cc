#include "transport/tcp/nic/xdp/redirect.h"

#include <fmt/format.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/time.h"
#include "host/interfaces.h"
#include "transport/tcp/nic/packet_membership.h"
#include "transport/tcp/nic/xdp/bpf.h"
#include "transport/tcp/nic/xdp/program.h"

namespace tfabric::nic::xdp {
namespace {

std::mutex g_mutex;
// All redirects of the process; guarded by g_mutex.
std::set<Redirect*>& redirects() {
  static auto* all = new std::set<Redirect*>;  // never destroyed: ports may be closed at exit
  return *all;
}

constexpr const char *kNative = "native mode", *kGeneric = "generic mode";

// IPv6 asks for neighbours by multicast (RFC 4861 §7.2.1).
Result<Descriptor> hear_multicast(const std::string& interface, unsigned index) {
  Descriptor socket(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0 || !let_pass(socket, static_cast<int>(index), PACKET_MR_ALLMULTI)) {
    return refusal(fmt::format("cannot ask the interface {} for multicast frames", interface), errno);
  }
  return socket;
}

Error foreign_program(const std::string& interface) {
  return {
      Errc::unusable,
      fmt::format("the interface {0} has an XDP program of another owner: end what has attached it "
                  "(`ip link show {0}` shows it, `bpftool net` more), or as root: ip link set {0} xdp off",
                  interface)};
}

}  // namespace

struct Redirect::Place {
  std::string interface;
  unsigned index;
};

struct Redirect::Joined {
  SubsetProgram program;
  Link link;
};

Result<Redirect::Place> Redirect::place_of(const std::string& interface) {
  const unsigned index = if_nametoindex(interface.c_str());
  if (index == 0) {
    return Error{Errc::unusable,
                 fmt::format("there is no interface {} in this network namespace", interface)};
  }
  return Place{.interface = interface, .index = index};
}

Result<std::optional<Redirect::Link>> Redirect::link(const Place& place, int code) {
  const auto is_taken = [](int answer) { return answer == -EBUSY || answer == -EEXIST; };
  const int native = create_link(place.index, code, BPF_XDP, XDP_FLAGS_DRV_MODE);
  if (native >= 0) {
    return std::optional(Link{.descriptor = Descriptor(native), .mode = kNative});
  }
  int answer = native;
  if (!is_taken(native) && native != -EPERM) {
    answer = create_link(place.index, code, BPF_XDP, XDP_FLAGS_SKB_MODE);
    if (answer >= 0) {
      return std::optional(Link{.descriptor = Descriptor(answer), .mode = kGeneric});
    }
  }
  if (is_taken(answer)) {
    return std::optional<Link>();
  }
  return refusal(fmt::format("cannot attach an XDP program to the interface {}", place.interface), -answer);
}

Result<std::unique_ptr<Redirect>> Redirect::attach(const std::string& interface, std::uint32_t queues) {
  Result<Place> place = place_of(interface);
  if (!place) {
    return place.error();
  }
  Result<Program> program = load_program(queues);
  if (!program) {
    return program.error();
  }
  Result<Descriptor> multicast = hear_multicast(interface, place->index);
  if (!multicast) {
    return multicast.error();
  }
  Result<std::optional<Link>> attached = link(*place, program->code.get());
  if (!attached) {
    return attached.error();
  }
  if (!*attached) {
    return foreign_program(interface);
  }
  std::unique_ptr<Redirect> redirect(new Redirect(*place, {.first = 0, .count = queues},
                                                  std::move(program->sockets), std::move(**attached)));
  redirect->multicast_.emplace(std::move(*multicast));
  redirect->whole_ = true;
  return redirect;
}

Result<std::optional<Redirect::Joined>> Redirect::joined(const Place& place) {
  const std::uint32_t program = host::xdp_program_of(place.interface);
  if (program == 0) {
    return std::optional<Joined>();
  }
  Result<std::optional<SubsetProgram>> found = find_subset_program(program);
  if (!found) {
    if (host::xdp_program_of(place.interface) == program) {
      return found.error();
    }
    return std::optional<Joined>();  // it has ended in between
  }
  if (!*found) {
    return foreign_program(place.interface);
  }
  bpf_attr next{};
  while (bpf(BPF_LINK_GET_NEXT_ID, next) == 0) {
    next.start_id = next.next_id;
    Descriptor descriptor = open_id(BPF_LINK_GET_FD_BY_ID, next.start_id);
    if (descriptor.get() == -EPERM) {
      return refusal(fmt::format("cannot look at the XDP program of the interface {}", place.interface),
                     EPERM);
    }
    bpf_link_info info{};
    if (descriptor.get() >= 0 && ask(descriptor, info) >= 0 && info.type == BPF_LINK_TYPE_XDP &&
        info.prog_id == program) {
      return std::optional(
          Joined{.program = std::move(**found),
                 .link = {.descriptor = std::move(descriptor), .mode = "by another process's program"}});
    }
  }
  // There is no link: the last process that had one has ended, and the kernel is about to remove the program.
  return std::optional<Joined>();
}

Result<std::optional<Redirect::Joined>> Redirect::make_joined(const Place& place) {
  Result<SubsetProgram> program = load_subset_program();
  if (!program) {
    return program.error();
  }
  Result<std::optional<Link>> made = link(place, program->code.get());
  if (!made) {
    return made.error();
  }
  if (!*made) {
    return std::optional<Joined>();
  }
  return std::optional(Joined{.program = std::move(*program), .link = std::move(**made)});
}

// A job's processes start at the same time. A process that finds no program attaches one, unless another was
// faster; the program of an earlier job's last process may be about to go. So it tries again for a while.
Result<Redirect::Joined> Redirect::join_or_make(const Place& place) {
  constexpr Duration kPatience = std::chrono::seconds(3), kPause = std::chrono::milliseconds(10);
  const Instant until = monotonic_now() + kPatience;
  while (monotonic_now() < until) {
    Result<std::optional<Joined>> others = joined(place);
    if (!others) {
      return others.error();
    }
    if (*others) {
      return std::move(**others);
    }
    Result<std::optional<Joined>> own = make_joined(place);
    if (!own) {
      return own.error();
    }
    if (*own) {
      return std::move(**own);
    }
    std::this_thread::sleep_for(kPause);
  }
  return Error{Errc::unusable,
               fmt::format("the XDP program of the interface {} comes and goes: what attaches "
                           "it? (`bpftool net`)",
                           place.interface)};
}

Result<std::unique_ptr<Redirect>> Redirect::join(const std::string& interface, const QueueSubset& subset) {
  Result<Place> place = place_of(interface);
  if (!place) {
    return place.error();
  }
  Result<Joined> found = join_or_make(*place);
  if (!found) {
    return found.error();
  }
  for (const config::IpBytes& address : subset.addresses) {
    if (Status added = add_address(found->program, address); !added) {
      return added.error();
    }
  }
  const Queues queues{.first = subset.first_queue, .count = static_cast<std::uint32_t>(subset.ports.size())};
  for (std::uint32_t i = 0; i < queues.count; ++i) {
    if (Status set = set_ports(found->program, queues.first + i, subset.ports[i]); !set) {
      return set.error();
    }
  }
  return std::unique_ptr<Redirect>(
      new Redirect(*place, queues, std::move(found->program.sockets), std::move(found->link)));
}

Redirect::Redirect(const Place& place, Queues queues, Descriptor sockets, Link link)
    : interface_(place.interface),
      index_(place.index),
      queues_(queues),
      sockets_(std::move(sockets)),
      link_(std::move(link.descriptor)),
      mode_(link.mode) {
  const std::lock_guard guard(g_mutex);
  redirects().insert(this);
}

Redirect::~Redirect() {
  {
    const std::lock_guard guard(g_mutex);
    redirects().erase(this);
  }
  if (whole_) {
    // Closing the descriptor may not be enough: a child that is forked just now has it, too, for a moment.
    bpf_attr attributes{};
    attributes.link_detach.link_fd = static_cast<std::uint32_t>(link_.get());
    static_cast<void>(bpf(BPF_LINK_DETACH, attributes));
  }
}

Redirect* Redirect::find(unsigned interface_index, std::uint32_t queue) {
  const std::lock_guard guard(g_mutex);
  const auto found = std::find_if(redirects().begin(), redirects().end(), [&](const Redirect* each) {
    return each->index_ == interface_index && queue - each->queues_.first < each->queues_.count;
  });
  return found == redirects().end() ? nullptr : *found;
}

Status Redirect::add(std::uint32_t queue, int socket) const {
  if (const int answer = update(sockets_, &queue, &socket); answer != 0) {
    return refusal(fmt::format("cannot lead the frames of queue {} of the interface {} to its socket", queue,
                               interface_),
                   -answer);
  }
  return {};
}

void Redirect::remove(std::uint32_t queue) const {
  bpf_attr attributes{};
  attributes.map_fd = static_cast<std::uint32_t>(sockets_.get());
  attributes.key = reinterpret_cast<std::uintptr_t>(&queue);
  // Fails if the kernel has removed the entry already, with its socket.
  static_cast<void>(bpf(BPF_MAP_DELETE_ELEM, attributes));
}

}  // namespace tfabric::nic::xdp
