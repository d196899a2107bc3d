// A connection manager for tests in librdmacm's place, with the network between its ids.
//
// Each id is of the port whose GID it is bound to. What the library would tell, the channel's next event
// tells at once, unless a test puts something else in its place. It notes what no correct user does
// (violations). One can live at a time; thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "transport/rdma/cm/library.h"
#include "transport/rdma/discovery/gid.h"

namespace tfabric::rdma::test {

class FakeConnectionManager {
 public:
  struct Port {
    ibv::Context* context = nullptr;
    std::uint8_t number = 1;
  };

  FakeConnectionManager();
  ~FakeConnectionManager();
  FakeConnectionManager(const FakeConnectionManager&) = delete;
  FakeConnectionManager& operator=(const FakeConnectionManager&) = delete;

  [[nodiscard]] const cm::Library& library() const { return library_; }
  // Whose address a GID is; asked when an id is bound. A null context: nobody's.
  std::function<Port(const Gid&)> port_of;

  // Instead of an event of one kind another is told, of this status, until it is taken out.
  struct Instead {
    cm::EventType type{};
    int status = 0;
  };
  std::map<cm::EventType, Instead> instead;
  // Nothing of this kind is told at all.
  std::optional<cm::EventType> silent;
  // Errors of all calls of a kind: errno; 0: none.
  int channel_error = 0, listen_error = 0, resolve_error = 0, accept_error = 0, attribute_error = 0;
  // What a stranger's request brings to whoever begins to listen; empty: there is none.
  std::vector<std::byte> stranger;

  // What was done.
  [[nodiscard]] std::vector<std::string> violations() const;
  [[nodiscard]] std::size_t ids() const;       // not destroyed yet
  [[nodiscard]] std::size_t channels() const;  // not destroyed yet
  [[nodiscard]] int rejections() const;
  [[nodiscard]] int established() const;
  std::uint8_t last_traffic_class = 0;

 private:
  struct FakeChannel;
  struct FakeId;
  struct FakeEvent;

  static cm::EventChannel* create_event_channel();
  static void destroy_event_channel(cm::EventChannel* channel);
  static int get_cm_event(cm::EventChannel* channel, cm::Event** event);
  static int ack_cm_event(cm::Event* event);
  static int create_id(cm::EventChannel* channel, cm::Id** id, void* context, cm::PortSpace space);
  static int destroy_id(cm::Id* id);
  static int set_option(cm::Id* id, int level, int option, void* value, std::size_t length);
  static int bind_addr(cm::Id* id, sockaddr* address);
  static std::uint16_t get_src_port(cm::Id* id);
  static int resolve_addr(cm::Id* id, sockaddr* from, sockaddr* to, int timeout_ms);
  static int resolve_route(cm::Id* id, int timeout_ms);
  static int connect(cm::Id* id, cm::ConnParam* param);
  static int establish(cm::Id* id);
  static int listen(cm::Id* id, int backlog);
  static int accept(cm::Id* id, cm::ConnParam* param);
  static int reject(cm::Id* id, const void* private_data, std::uint8_t length);
  static int init_qp_attr(cm::Id* id, ibv::QpAttr* attributes, int* mask);

  bool bind(FakeId& id, sockaddr* address);
  FakeId& add_id(cm::EventChannel* channel);
  FakeId* listener_at(const Gid& gid, std::uint16_t port);
  FakeId& request(FakeId& listener, const std::vector<std::byte>& private_data);
  void tell(FakeId& id, cm::EventType type, int status = 0, FakeId* listener = nullptr,
            std::vector<std::byte> private_data = {});

  static FakeConnectionManager* current_;
  mutable std::mutex mutex_;
  cm::Library library_;
  std::vector<std::unique_ptr<FakeChannel>> channels_;
  std::vector<std::unique_ptr<FakeId>> ids_;
  std::vector<std::string> violations_;
  std::uint16_t next_port_ = 40000;
  int rejections_ = 0, established_ = 0;
};

}  // namespace tfabric::rdma::test
