#include "transport/tcp/port/xdp/bpf.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tfabric::port::xdp {

int bpf(bpf_cmd command, bpf_attr& attributes) {
  const long answer = syscall(SYS_bpf, command, &attributes, sizeof attributes);
  return answer < 0 ? -errno : static_cast<int>(answer);
}

Error refusal(const std::string& what, int error) {
  std::string mend;
  switch (error) {
    case EPERM:
    case EACCES:
      mend =
          "; AF_XDP needs the capabilities NET_ADMIN, NET_RAW and BPF: run the job as root, or a container "
          "with --cap-add for each (SYS_ADMIN in place of BPF, where the container's rules know no BPF)";
      break;
    case ENOSYS:
    case EAFNOSUPPORT:
      mend = "; this kernel has no AF_XDP: it takes Linux 5.9 or newer with CONFIG_XDP_SOCKETS";
      break;
    default:
      break;
  }
  return {Errc::unusable, fmt::format("{}: {}{}", what, std::strerror(error), mend)};
}

}  // namespace tfabric::port::xdp
