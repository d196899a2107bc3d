#include "tools/stat/serve.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "base/version.h"
#include "tools/stat/beast.h"

namespace tfabric::stat {
namespace {

using asio::ip::tcp;
using std::chrono::milliseconds;

constexpr auto kStep = std::chrono::seconds(10);
// How long a client may take to read an answer behind which the connection is closed.
constexpr auto kLinger = std::chrono::seconds(1);
constexpr auto kFresh = milliseconds(100);
// A process may have 1,024 descriptors by default.
constexpr std::size_t kMostConnections = 512;
// When one more arrives, the one that has rested longest goes, if it has an answer under way after this time
// only.
constexpr auto kMayStandStill = std::chrono::seconds(1);
constexpr auto kAgain = milliseconds(20);  // until the next try, while descriptors or memory are short

using Text = std::shared_ptr<const std::string>;
using Response = http::response<http::span_body<const char>>;

// A document with what was made of it last.
class Shelf {
 public:
  explicit Shelf(ServedDocument document) : document_(std::move(document)) {}
  [[nodiscard]] const ServedDocument& document() const { return document_; }
  Text text() {
    const Instant now = monotonic_now();
    if (!text_ || now - made_at_ >= kFresh) {
      text_ = std::make_shared<const std::string>(document_.make());
      made_at_ = monotonic_now();
    }
    return text_;
  }

 private:
  ServedDocument document_;
  Text text_;
  Instant made_at_{};
};

struct Answer {
  http::status status = http::status::ok;
  std::string content_type = "text/plain; charset=utf-8";
  Text text;
};

Answer refusal(http::status status, std::string_view why) {
  return {.status = status, .text = std::make_shared<const std::string>(fmt::format("{}\n", why))};
}

class Session;

// What the sessions share. Outlives them.
struct Site {
  std::vector<Shelf> shelves;
  std::set<Session*> sessions;

  Answer answer(http::verb method, std::string_view path) {
    path = path.substr(0, path.find('?'));
    const auto shelf = std::find_if(shelves.begin(), shelves.end(),
                                    [&](const Shelf& each) { return each.document().path == path; });
    if (shelf == shelves.end()) {
      return refusal(http::status::not_found, "there is no such document; / names those that are");
    }
    if (method != http::verb::get && method != http::verb::head) {
      return refusal(http::status::method_not_allowed, "only GET and HEAD");
    }
    return {.content_type = shelf->document().content_type, .text = shelf->text()};
  }
};

// A connection. Its handlers keep it alive; it ends when none is left.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, Site& site) : stream_(std::move(socket)), site_(&site) {
    site_->sessions.insert(this);
  }
  ~Session() { site_->sessions.erase(this); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Since when it has been silent, or is to be taken for one that is.
  [[nodiscard]] Instant silent_since() const {
    return answering_ ? since_ + Duration(kMayStandStill) : since_;
  }
  void close() { stream_.close(); }

  void receive() {
    parser_.emplace();
    parser_->header_limit(kMostHeaderBytes);
    answering_ = false;
    begin(kStep);
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](error_code error, std::size_t) { self->on_header(error); });
  }

 private:
  void begin(std::chrono::seconds limit) {
    since_ = monotonic_now();
    stream_.expires_after(limit);
  }

  void on_header(error_code error) {
    if (!error) {
      on_request(parser_->get());
    } else if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      send(refusal(http::status::request_header_fields_too_large, "the request is too long"), /*keep=*/false);
    } else if (error.category() == http::make_error_code(http::error::bad_version).category() &&
               error != http::error::end_of_stream && error != http::error::partial_message) {
      send(refusal(http::status::bad_request, "this is no HTTP request"), /*keep=*/false);
    }
    // Else the client is gone, or was silent for too long.
  }

  void on_request(const http::request<http::empty_body>& request) {
    const auto path = request.target();
    Answer answer = site_->answer(request.method(), {path.data(), path.size()});
    const bool has_body = !parser_->is_done();
    if (has_body && answer.status == http::status::ok) {
      answer = refusal(http::status::bad_request, "a request has no body here");
    }
    send(std::move(answer), request.keep_alive() && !has_body);
  }

  void send(Answer answer, bool keep) {
    text_ = std::move(answer.text);
    response_.emplace(answer.status, parser_->get().version() == 10 ? 10 : 11);
    response_->set(http::field::server, "tfabric/" + std::string(version()));
    response_->set(http::field::content_type, answer.content_type);
    response_->set(http::field::cache_control, "no-store");
    if (answer.status == http::status::method_not_allowed) {
      response_->set(http::field::allow, "GET, HEAD");
    }
    response_->keep_alive(keep);
    response_->content_length(text_->size());
    if (parser_->get().method() != http::verb::head) {
      response_->body() = {text_->data(), text_->size()};
    }
    answering_ = true;
    begin(kStep);
    http::async_write(stream_, *response_,
                      [self = shared_from_this()](error_code error, std::size_t) { self->on_sent(error); });
  }

  void on_sent(error_code error) {
    if (error) {
      return;
    }
    if (response_->keep_alive()) {
      receive();
      return;
    }
    // To close while bytes of the client are unread would reset the connection, and take the answer with it.
    stream_.socket().shutdown(tcp::socket::shutdown_send, error);
    begin(kLinger);
    discard();
  }

  void discard() {
    stream_.async_read_some(asio::buffer(unread_),
                            [self = shared_from_this()](error_code error, std::size_t) {
                              if (!error) {
                                self->discard();
                              }
                            });
  }

  beast::tcp_stream stream_;
  Site* site_;
  beast::flat_buffer buffer_{2 * std::size_t{kMostHeaderBytes}};
  std::optional<http::request_parser<http::empty_body>> parser_;
  std::optional<Response> response_;
  Text text_;  // what the response shows
  std::array<char, 4096> unread_{};
  Instant since_ = monotonic_now();
  bool answering_ = false;
};

class Server {
 public:
  explicit Server(Site& site) : site_(&site), acceptor_(context_), again_(context_), signals_(context_) {}

  Result<Endpoint> listen(const Endpoint& at) {
    error_code error;
    const auto address = asio::ip::make_address(at.host == "localhost" ? "127.0.0.1" : at.host, error);
    if (error) {
      return Error{Errc::invalid_usage,
                   fmt::format("\"{}\" is no IP address; expected ADDRESS:PORT, as 127.0.0.1:{} or [::]:{}",
                               at.host, kServePort, kServePort)};
    }
    const tcp::endpoint where(address, at.port);
    open(where, error);
    if (error) {
      const bool used = error == asio::error::address_in_use;
      return Error{Errc::system,
                   fmt::format("cannot listen on {}: {}{}", at.text(), error.message(),
                               used ? "; another program has this port: name another one" : "")};
    }
    // Before the caller says that it listens: who reads that may end it at once.
    error_code ignored;
    signals_.add(SIGINT, ignored);
    signals_.add(SIGTERM, ignored);
    return Endpoint{.host = address.to_string(), .port = acceptor_.local_endpoint(error).port()};
  }

  void run() {
    signals_.async_wait([this](error_code error, int) {
      if (!error) {
        context_.stop();
      }
    });
    accept();
    context_.run();
  }

 private:
  void open(const tcp::endpoint& where, error_code& error) {
    acceptor_.open(where.protocol(), error);
    if (!error) {
      acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    }
    if (!error) {
      acceptor_.bind(where, error);
    }
    if (!error) {
      acceptor_.listen(asio::socket_base::max_listen_connections, error);
    }
  }

  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error) {  // descriptors or memory are short
        drop_one();
        wait();
        return;
      }
      if (site_->sessions.size() >= kMostConnections) {
        drop_one();
      }
      std::make_shared<Session>(std::move(socket), *site_)->receive();
      accept();
    });
  }

  // A crowd of silent clients keeps no other one waiting.
  void drop_one() {
    const auto& all = site_->sessions;
    const auto longest = std::min_element(
        all.begin(), all.end(),
        [](const Session* one, const Session* other) { return one->silent_since() < other->silent_since(); });
    if (longest != all.end()) {
      (*longest)->close();
      site_->sessions.erase(longest);  // its handlers end it
    }
  }

  void wait() {
    again_.expires_after(kAgain);
    again_.async_wait([this](error_code error) {
      if (!error) {
        accept();
      }
    });
  }

  Site* site_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer again_;
  asio::signal_set signals_;
};

}  // namespace

Status serve(const Endpoint& at, std::vector<ServedDocument> documents,
             const std::function<void(const Endpoint&)>& listening) {
  Site site;
  for (ServedDocument& document : documents) {
    site.shelves.emplace_back(std::move(document));
  }
  Server server(site);
  const Result<Endpoint> where = server.listen(at);
  if (!where) {
    return where.error();
  }
  listening(*where);
  server.run();
  return {};
}

}  // namespace tfabric::stat
