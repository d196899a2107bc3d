// Which interfaces are left alone: ssh_sessions() and protected_interfaces().
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <sstream>
#include <string_view>

#include "tools/setup/network.h"

namespace tfabric::setup {
namespace {

// Converts "::ffff:10.0.0.1" and "fe80::1%eth0" to the form that `ip` prints.
std::string plain_address(std::string text) {
  constexpr std::string_view kMapped = "::ffff:";
  if (text.starts_with(kMapped) && text.find('.') != std::string::npos) {
    text.erase(0, kMapped.size());
  }
  return text.substr(0, text.find('%'));
}

// `environment` is the content of /proc/PID/environ. SSH_CONNECTION (ssh(1)) holds the client's address and
// port, then the server's.
std::optional<SshSession> session_in(const std::string& environment) {
  constexpr std::string_view kName = "SSH_CONNECTION=";
  std::size_t from = 0;
  while (from < environment.size()) {
    const std::size_t end = std::min(environment.find('\0', from), environment.size());
    const std::string entry = environment.substr(from, end - from);
    from = end + 1;
    if (entry.starts_with(kName)) {
      std::istringstream words(entry.substr(kName.size()));
      std::string client, client_port, server;
      if (words >> client >> client_port >> server) {
        return SshSession{plain_address(client), plain_address(server), {}};
      }
    }
  }
  return std::nullopt;
}

std::string interface_towards(Host& host, const std::string& address) {
  const Output output = host.run({"ip", "-json", "route", "get", address});
  const auto json = parse_json(output.out);
  return output.ok() && json && json->is_array() && !json->empty() ? text_of(json->front(), "dev")
                                                                   : std::string();
}

// Collects the protected interfaces.
class Protection {
 public:
  explicit Protection(const Network& network) : network_(network) {}

  // Adds the interface and, with it, the ports or the parent that it depends on.
  void add(const std::string& interface, const std::string& reason) {
    if (interface.empty() || !reasons_.emplace(interface, reason).second) {
      return;
    }
    for (const Link& link : network_.links) {
      if (link.master == interface) {
        add(link.name, fmt::format("is part of {}, which {}", interface, reason));
      }
      if (link.name == interface && !link.lower.empty()) {
        add(link.lower, fmt::format("carries {}, which {}", interface, reason));
      }
    }
  }
  void add_default_routes(bool v6) {
    std::optional<std::int64_t> least;
    for (const Route& route : network_.routes) {
      if (is_default(route, v6)) {
        least = std::min(least.value_or(route.metric), route.metric);
      }
    }
    for (const Route& route : network_.routes) {
      if (is_default(route, v6) && route.metric == least) {
        for (const std::string& device : route.devices) {
          add(device, fmt::format("has the default route of IPv{}", v6 ? 6 : 4));
        }
      }
    }
  }
  void add_session(const SshSession& session) {
    const std::string reason = fmt::format("carries the ssh session from {}", session.client);
    add(session.way_back, reason);
    for (const Link& link : network_.links) {
      for (const Json& address : link.addresses) {
        if (text_of(address, "local") == session.server) {
          add(link.name, reason);
        }
      }
    }
  }
  [[nodiscard]] std::map<std::string, std::string> take() { return std::move(reasons_); }

 private:
  static bool is_default(const Route& route, bool v6) {
    return route.v6 == v6 && route.destination == "default" && route.table == "main" &&
           !route.devices.empty() && route.devices.front() != "lo";
  }

  const Network& network_;
  std::map<std::string, std::string> reasons_;
};

}  // namespace

std::vector<SshSession> ssh_sessions(Host& host) {
  std::vector<SshSession> sessions;
  for (const std::string& name : host.list("/proc")) {
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) {
      continue;
    }
    const auto session = session_in(host.read("/proc/" + name + "/environ").value_or(""));
    if (session && std::none_of(sessions.begin(), sessions.end(), [&](const SshSession& known) {
          return known.client == session->client && known.server == session->server;
        })) {
      sessions.push_back(*session);
      sessions.back().way_back = interface_towards(host, session->client);
    }
  }
  return sessions;
}

std::map<std::string, std::string> protected_interfaces(const Network& network,
                                                        const std::vector<SshSession>& sessions) {
  Protection protection(network);
  protection.add_default_routes(/*v6=*/false);
  protection.add_default_routes(/*v6=*/true);
  for (const SshSession& session : sessions) {
    protection.add_session(session);
  }
  return protection.take();
}

}  // namespace tfabric::setup
