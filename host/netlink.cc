#include "host/netlink.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/descriptor.h"

namespace tfabric::host::netlink {
namespace {

// The kernel fills a message of a dump up to this size (NLMSG_GOODSIZE and what is larger for links with many
// attributes).
constexpr std::size_t kReplyBytes = 64u << 10;

}  // namespace

Bytes Request::bytes() {
  const auto length = static_cast<std::uint32_t>(bytes_.size());
  std::memcpy(bytes_.data() + offsetof(nlmsghdr, nlmsg_len), &length, sizeof length);
  return bytes_;
}

int ask(Request request, const std::function<void(const nlmsghdr& header, Bytes message)>& take) {
  const Descriptor kernel(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  const Bytes question = request.bytes();
  if (kernel.get() < 0 || send(kernel.get(), question.data(), question.size(), 0) < 0) {
    return errno;
  }
  const bool dumps = (read<nlmsghdr>(question).nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
  std::vector<std::byte> reply(kReplyBytes);
  for (;;) {
    const ssize_t size = recv(kernel.get(), reply.data(), reply.size(), 0);
    if (size < 0 && errno == EINTR) {
      continue;
    }
    if (size <= 0) {
      return size < 0 ? errno : EPIPE;
    }
    Bytes rest = Bytes(reply).first(static_cast<std::size_t>(size));
    while (rest.size() >= sizeof(nlmsghdr)) {
      const auto header = read<nlmsghdr>(rest);
      if (header.nlmsg_len < sizeof header || header.nlmsg_len > rest.size()) {
        return EBADMSG;
      }
      if (header.nlmsg_type == NLMSG_ERROR) {
        return -read<nlmsgerr>(rest.subspan(NLMSG_HDRLEN)).error;
      }
      if (header.nlmsg_type == NLMSG_DONE) {
        return 0;
      }
      take(header, rest.first(header.nlmsg_len));
      if (!dumps) {
        return 0;
      }
      rest = rest.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), rest.size()));
    }
  }
}

}  // namespace tfabric::host::netlink
