#include "transport/tcp/port/xdp/redirect.h"

#include <fmt/format.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <utility>

#include "transport/tcp/port/xdp/bpf.h"

namespace tfabric::port::xdp {
namespace {

std::mutex g_mutex;
// By the interface's index; guarded by g_mutex.
std::map<unsigned, Redirect*>& redirects() {
  static auto* all = new std::map<unsigned, Redirect*>;  // never destroyed: ports may be closed at exit
  return *all;
}

int create_link(unsigned index, const Program& program, std::uint32_t mode) {
  bpf_attr attributes{};
  attributes.link_create.prog_fd = static_cast<std::uint32_t>(program.code.get());
  attributes.link_create.target_ifindex = index;
  attributes.link_create.attach_type = BPF_XDP;
  attributes.link_create.flags = mode;
  return bpf(BPF_LINK_CREATE, attributes);
}

// IPv6 asks for neighbours by multicast (RFC 4861 §7.2.1). Ends with its socket, unlike the interface's flag.
Result<Descriptor> hear_multicast(const std::string& interface, unsigned index) {
  Descriptor socket(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  packet_mreq request{};
  request.mr_ifindex = static_cast<int>(index);
  request.mr_type = PACKET_MR_ALLMULTI;
  if (socket.get() < 0 ||
      setsockopt(socket.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof request) != 0) {
    return refusal(fmt::format("cannot ask the interface {} for multicast frames", interface), errno);
  }
  return socket;
}

}  // namespace

Result<Redirect::Link> Redirect::link(const std::string& interface, unsigned index, const Program& program) {
  const int native = create_link(index, program, XDP_FLAGS_DRV_MODE);
  if (native >= 0) {
    return Link{.descriptor = Descriptor(native), .native = true};
  }
  const auto is_taken = [](int answer) { return answer == -EBUSY || answer == -EEXIST; };
  int generic = native;
  if (!is_taken(native) && native != -EPERM) {
    generic = create_link(index, program, XDP_FLAGS_SKB_MODE);
    if (generic >= 0) {
      return Link{.descriptor = Descriptor(generic), .native = false};
    }
  }
  if (is_taken(generic)) {
    return Error{Errc::unusable,
                 fmt::format("the interface {0} has an XDP program of somebody else's: end what has attached "
                             "it (`ip link show {0}` shows it, `bpftool net` more), or as root: ip link set "
                             "{0} xdp off",
                             interface)};
  }
  return refusal(fmt::format("cannot attach an XDP program to the interface {}", interface), -generic);
}

Result<std::unique_ptr<Redirect>> Redirect::attach(const std::string& interface, std::uint32_t queues) {
  const unsigned index = if_nametoindex(interface.c_str());
  if (index == 0) {
    return Error{Errc::unusable,
                 fmt::format("there is no interface {} in this network namespace", interface)};
  }
  Result<Program> program = load_program(queues);
  if (!program) {
    return program.error();
  }
  Result<Descriptor> multicast = hear_multicast(interface, index);
  if (!multicast) {
    return multicast.error();
  }
  Result<Link> attached = link(interface, index, *program);
  if (!attached) {
    return attached.error();
  }
  return std::unique_ptr<Redirect>(
      new Redirect(interface, index, std::move(*program), std::move(*attached), std::move(*multicast)));
}

Redirect::Redirect(std::string interface, unsigned index, Program program, Link link, Descriptor multicast)
    : interface_(std::move(interface)),
      index_(index),
      program_(std::move(program)),
      link_(std::move(link.descriptor)),
      multicast_(std::move(multicast)),
      native_(link.native) {
  const std::lock_guard guard(g_mutex);
  redirects()[index_] = this;
}

Redirect::~Redirect() {
  {
    const std::lock_guard guard(g_mutex);
    redirects().erase(index_);
  }
  // Children that were forked may have the descriptor, too, and live longer.
  bpf_attr attributes{};
  attributes.link_detach.link_fd = static_cast<std::uint32_t>(link_.get());
  static_cast<void>(bpf(BPF_LINK_DETACH, attributes));
}

Redirect* Redirect::find(unsigned interface_index) {
  const std::lock_guard guard(g_mutex);
  const auto found = redirects().find(interface_index);
  return found == redirects().end() ? nullptr : found->second;
}

Status Redirect::add(std::uint32_t queue, int socket) const {
  bpf_attr attributes{};
  attributes.map_fd = static_cast<std::uint32_t>(program_.sockets.get());
  attributes.key = reinterpret_cast<std::uintptr_t>(&queue);
  attributes.value = reinterpret_cast<std::uintptr_t>(&socket);
  if (const int answer = bpf(BPF_MAP_UPDATE_ELEM, attributes); answer != 0) {
    return refusal(fmt::format("cannot lead the frames of queue {} of the interface {} to its socket", queue,
                               interface_),
                   -answer);
  }
  return {};
}

void Redirect::remove(std::uint32_t queue) const {
  bpf_attr attributes{};
  attributes.map_fd = static_cast<std::uint32_t>(program_.sockets.get());
  attributes.key = reinterpret_cast<std::uintptr_t>(&queue);
  // The kernel may have taken it out before, with its socket.
  static_cast<void>(bpf(BPF_MAP_DELETE_ELEM, attributes));
}

}  // namespace tfabric::port::xdp
