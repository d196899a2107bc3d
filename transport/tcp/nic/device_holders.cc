#include "transport/tcp/nic/device_holders.h"

#include <fmt/format.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/xdp_diag.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <sstream>
#include <system_error>
#include <vector>

#include "base/descriptor.h"
#include "host/netlink.h"
#include "host/process_lock.h"

namespace tfabric::nic {
namespace {

namespace fs = std::filesystem;
namespace netlink = host::netlink;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;  // the process has ended, or is another user's
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string target_of(const fs::path& link) {
  std::error_code error;
  return fs::read_symlink(link, error).string();
}

// Describes the processes for which `has(folder in /proc, number of a descriptor)` is true.
template <class Has>
std::string describe(const std::string& root, const Has& has) {
  std::vector<std::string> holders;
  for (const std::string& name : names_in(root + "/proc")) {
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) {
      continue;
    }
    const fs::path folder = fs::path(root + "/proc") / name;
    const pid_t process = std::atoi(name.c_str());
    const std::vector<std::string> descriptors = names_in(folder / "fd");
    if (process != getpid() && std::any_of(descriptors.begin(), descriptors.end(),
                                           [&](const auto& number) { return has(folder, number); })) {
      holders.push_back(host::describe_process(process));
    }
  }
  return fmt::format("{}", fmt::join(holders, " and "));
}

std::string holders_of_socket(const std::string& inode, const std::string& root) {
  return holders_of_file(fmt::format("socket:[{}]", inode), root);
}

bool has_line(const fs::path& file, const std::string& wanted) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line == wanted) {
      return true;
    }
  }
  return false;
}

// Returns the inode of the socket that the message is about, if that is one of this queue.
std::optional<std::uint32_t> inode_of(netlink::Bytes message, unsigned interface_index, std::uint32_t queue) {
  const auto socket = netlink::read<xdp_diag_msg>(message);
  const netlink::Bytes rest = message.subspan(std::min(message.size(), sizeof socket));
  const netlink::Bytes attribute = netlink::find(rest, XDP_DIAG_INFO);
  const auto info = netlink::read<xdp_diag_info>(attribute);
  return !attribute.empty() && info.ifindex == interface_index && info.queue_id == queue
             ? std::optional(socket.xdiag_ino)
             : std::nullopt;
}

}  // namespace

std::string holders_of_file(const std::string& path, const std::string& root) {
  return describe(root, [&](const fs::path& process, const std::string& descriptor) {
    return target_of(process / "fd" / descriptor) == path;
  });
}

std::string holders_of_tun(const std::string& interface, const std::string& root) {
  const std::string own = target_of(root + "/proc/thread-self/ns/net");
  return describe(root, [&](const fs::path& process, const std::string& descriptor) {
    return target_of(process / "fd" / descriptor) == "/dev/net/tun" &&
           target_of(process / "ns" / "net") == own &&
           has_line(process / "fdinfo" / descriptor, "iff:\t" + interface);
  });
}

std::string holders_of_unix_socket(const std::string& path, const std::string& root) {
  std::ifstream sockets(root + "/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    std::string number, references, protocol, flags, type, state, inode, bound;
    std::istringstream(line) >> number >> references >> protocol >> flags >> type >> state >> inode >> bound;
    if (bound != path) {
      continue;
    }
    // Connections have the path of the socket that took them, too, and no inode before they are accepted.
    if (std::string holders = holders_of_socket(inode, root); !holders.empty()) {
      return holders;
    }
  }
  return {};
}

std::string holders_of_xdp_queue(unsigned interface_index, std::uint32_t queue) {
  const Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  struct {
    nlmsghdr header;
    xdp_diag_req body;
  } request{};
  request.header = {.nlmsg_len = sizeof request,
                    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                    .nlmsg_seq = 0,
                    .nlmsg_pid = 0};
  request.body.sdiag_family = AF_XDP;
  request.body.xdiag_show = XDP_SHOW_INFO;
  if (socket.get() < 0 || send(socket.get(), &request, sizeof request, 0) < 0) {
    return {};
  }
  std::array<std::byte, 16384> answer;
  for (;;) {
    const ssize_t size = recv(socket.get(), answer.data(), answer.size(), 0);
    netlink::Bytes left = std::span(answer).first(size < 0 ? 0 : static_cast<std::size_t>(size));
    if (left.empty()) {
      return {};
    }
    while (left.size() >= NLMSG_HDRLEN) {
      const auto header = netlink::read<nlmsghdr>(left);
      if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > left.size() ||
          header.nlmsg_type != SOCK_DIAG_BY_FAMILY) {
        return {};  // the end, or an error
      }
      const netlink::Bytes message = left.first(header.nlmsg_len).subspan(NLMSG_HDRLEN);
      if (const auto inode = inode_of(message, interface_index, queue)) {
        return holders_of_socket(std::to_string(*inode), "");
      }
      left = left.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), left.size()));
    }
  }
}

}  // namespace tfabric::nic
