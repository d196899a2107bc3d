#include "tools/stat/fetch.h"

#include <fmt/format.h>
#include <netdb.h>

#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/version.h"
#include "tools/stat/beast.h"

namespace tfabric::stat {
namespace {

using asio::ip::tcp;

struct What {
  std::string path;
  std::chrono::milliseconds limit;
  std::size_t most_bytes;
};

// One server. Its handlers keep it alive.
class Call : public std::enable_shared_from_this<Call> {
 public:
  Call(asio::io_context& context, const Endpoint& server, const What& what)
      : stream_(context), server_(server), limit_(what.limit) {
    request_.version(11);
    request_.method(http::verb::get);
    request_.target(what.path);
    request_.set(http::field::host, server.text());
    request_.set(http::field::user_agent, "tfabric/" + std::string(version()));
    request_.keep_alive(false);
    parser_.header_limit(kMostHeaderBytes);
    parser_.body_limit(what.most_bytes);
  }

  // `kept`: for the thread that resolves a name.
  void start(const std::shared_ptr<asio::io_context>& kept) {
    stream_.expires_after(limit_);
    error_code error;
    const auto address = asio::ip::make_address(server_.host, error);
    if (!error) {
      connect({tcp::endpoint(address, server_.port)});
      return;
    }
    state_ = "its name is not resolved";
    try {
      std::thread([kept, busy = asio::make_work_guard(*kept), call = weak_from_this(), server = server_] {
        resolve(*kept, call, server);
      }).detach();
    } catch (const std::system_error& failed) {
      fail(failed.what());
    }
  }

  [[nodiscard]] Result<std::string> answer() const {
    return text_ ? Result<std::string>(*text_)
                 : Error{Errc::remote,
                         why_.value_or(fmt::format("{} within {:g} s", state_,
                                                   std::chrono::duration<double>(limit_).count()))};
  }

 private:
  // On a thread of its own, which may outlive the call.
  static void resolve(asio::io_context& context, const std::weak_ptr<Call>& call, const Endpoint& server) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error = getaddrinfo(server.host.c_str(), nullptr, &hints, &found);
    std::vector<tcp::endpoint> ends;
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
      tcp::endpoint end;
      if (each->ai_addrlen <= end.capacity()) {
        std::memcpy(end.data(), each->ai_addr, each->ai_addrlen);
        end.resize(each->ai_addrlen);
        end.port(server.port);
        ends.push_back(end);
      }
    }
    if (found != nullptr) {
      freeaddrinfo(found);
    }
    asio::post(context, [call, error, ends = std::move(ends)] {
      const auto self = call.lock();
      if (!self) {
        return;
      }
      if (error != 0) {
        self->fail(fmt::format("its name cannot be resolved: {}", gai_strerror(error)));
      } else {
        self->connect(ends);
      }
    });
  }

  void connect(const std::vector<tcp::endpoint>& ends) {
    state_ = "no connection";
    stream_.async_connect(ends, [self = shared_from_this()](error_code error, const tcp::endpoint&) {
      if (error == asio::error::connection_refused) {
        self->fail(fmt::format("nothing listens on port {}: run `tfabric stat --serve 0.0.0.0:{}` there",
                               self->server_.port, self->server_.port));
      } else if (error) {
        self->fail(error);
      } else {
        self->ask();
      }
    });
  }

  void ask() {
    state_ = "it has not answered";
    http::async_write(stream_, request_, [self = shared_from_this()](error_code error, std::size_t) {
      if (error) {
        self->fail(error);
      } else {
        self->read();
      }
    });
  }

  void read() {
    http::async_read(stream_, buffer_, parser_, [self = shared_from_this()](error_code error, std::size_t) {
      const auto& answer = self->parser_.get();
      if (error == http::error::body_limit) {
        self->fail("its answer is too large");
      } else if (error) {
        self->fail(error, "it does not speak HTTP: ");
      } else if (answer.result() != http::status::ok) {
        self->fail(fmt::format("it answers with the HTTP status {}", answer.result_int()));
      } else {
        self->text_ = self->parser_.release().body();
      }
    });
  }

  void fail(const std::string& why) { why_ = why; }
  // That the time is over is said otherwise.
  void fail(error_code error, const std::string& what = {}) {
    if (error != beast::error::timeout) {
      why_ = what + error.message();
    }
  }

  beast::tcp_stream stream_;
  Endpoint server_;
  std::chrono::milliseconds limit_;
  http::request<http::empty_body> request_;
  http::response_parser<http::string_body> parser_;
  beast::flat_buffer buffer_{std::size_t{64} << 10};
  std::string state_;
  std::optional<std::string> why_, text_;
};

}  // namespace

std::vector<Result<std::string>> fetch(const std::vector<Endpoint>& servers, const std::string& path,
                                       std::chrono::milliseconds limit, std::size_t most_bytes) {
  const auto context = std::make_shared<asio::io_context>();
  std::vector<std::shared_ptr<Call>> calls;
  for (const Endpoint& server : servers) {
    calls.push_back(std::make_shared<Call>(*context, server, What{path, limit, most_bytes}));
    calls.back()->start(context);
  }
  context->run_for(limit);
  std::vector<Result<std::string>> answers;
  for (const auto& call : calls) {
    answers.push_back(call->answer());
  }
  return answers;
}

}  // namespace tfabric::stat
