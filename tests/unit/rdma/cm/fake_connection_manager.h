// A fake of librdmacm for tests, with the network between its ids.
//
// Each id belongs to the port whose GID it is bound to. The events that the library would report are queued
// at once, unless a test replaces them. Incorrect use is noted in violations(). One can exist at a time;
// thread-safe.
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
    ibv_context* context = nullptr;
    std::uint8_t number = 1;
  };

  FakeConnectionManager();
  ~FakeConnectionManager();
  FakeConnectionManager(const FakeConnectionManager&) = delete;
  FakeConnectionManager& operator=(const FakeConnectionManager&) = delete;

  [[nodiscard]] const cm::Library& library() const { return library_; }
  // Returns the port of a GID, when an id is bound. A null context means that it is unknown.
  std::function<Port(const Gid&)> port_of;

  // Replaces the events of one kind by another with this status, until the entry is removed.
  struct Instead {
    rdma_cm_event_type type{};
    int status = 0;
  };
  std::map<rdma_cm_event_type, Instead> instead;
  // Suppresses all events of this kind.
  std::optional<rdma_cm_event_type> silent;
  // errno of all calls of a kind; 0 for success.
  int channel_error = 0, listen_error = 0, resolve_error = 0, accept_error = 0, attribute_error = 0;
  // Private data of a foreign request, sent to each id that begins to listen; empty for none.
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

  static rdma_event_channel* create_event_channel();
  static void destroy_event_channel(rdma_event_channel* channel);
  static int get_cm_event(rdma_event_channel* channel, rdma_cm_event** event);
  static int ack_cm_event(rdma_cm_event* event);
  static int create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context, rdma_port_space space);
  static int destroy_id(rdma_cm_id* id);
  static int set_option(rdma_cm_id* id, int level, int option, void* value, std::size_t length);
  static int bind_addr(rdma_cm_id* id, sockaddr* address);
  static std::uint16_t get_src_port(rdma_cm_id* id);
  static int resolve_addr(rdma_cm_id* id, sockaddr* from, sockaddr* to, int timeout_ms);
  static int resolve_route(rdma_cm_id* id, int timeout_ms);
  static int connect(rdma_cm_id* id, rdma_conn_param* param);
  static int establish(rdma_cm_id* id);
  static int listen(rdma_cm_id* id, int backlog);
  static int accept(rdma_cm_id* id, rdma_conn_param* param);
  static int reject(rdma_cm_id* id, const void* private_data, std::uint8_t length);
  static int init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask);

  bool bind(FakeId& id, sockaddr* address);
  FakeId& add_id(rdma_event_channel* channel);
  FakeId* listener_at(const Gid& gid, std::uint16_t port);
  FakeId& request(FakeId& listener, const std::vector<std::byte>& private_data);
  void tell(FakeId& id, rdma_cm_event_type type, int status = 0, FakeId* listener = nullptr,
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
