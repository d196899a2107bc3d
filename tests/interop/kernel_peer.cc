// The Linux kernel's end of an interop stream: a plain socket program that goes through a script (script.h).
// The last line it prints is a JSON object.
#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/interop/kernel_socket.h"
#include "tests/interop/script.h"

using namespace tfabric::interop;

int main(int argc, char** argv) {
  CLI::App app{"The Linux kernel's end of an interop stream"};
  std::string listen_at, connect_to, port = "5001", refused_port;
  std::vector<std::string> words;
  SocketOptions options;
  unsigned timeout_s = 60;
  app.add_option("--listen", listen_at, "own address");
  app.add_option("--connect", connect_to, "the peer's address");
  app.add_option("--port", port);
  app.add_option("--refused-port", refused_port, "a port of the peer's that must refuse us before");
  app.add_option("--script", words, "the steps")->required()->delimiter(' ');
  app.add_option("--timeout", timeout_s, "seconds");
  app.add_option("--congestion", options.congestion);
  app.add_option("--receive-buffer", options.receive_buffer, "bytes; Linux doubles it");
  app.add_option("--user-timeout-ms", options.user_timeout_ms);
  app.add_option("--keepalive", options.keepalive_s, "seconds idle, and between probes; gives up after 2");
  CLI11_PARSE(app, argc, argv);
  const auto script = parse_script(words);
  if (!script) {
    std::fprintf(stderr, "kernel peer: the script has a word that is no step; see tests/interop/script.h\n");
    return 1;
  }
  alarm(timeout_s);  // ends a step that would never end
  try {
    if (!refused_port.empty()) {
      expect_refusal(connect_to, refused_port);
    }
    KernelSocket socket = listen_at.empty() ? KernelSocket::connect(connect_to, port, options)
                                            : KernelSocket::accept(listen_at, port, options);
    for (const Step& step : *script) {
      announce("step " + step.text);
      socket.run(step);
    }
    announce(socket.report().dump());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kernel peer: %s\n", error.what());
    return 1;
  }
  return 0;
}
