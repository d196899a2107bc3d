// The engines of the process, each with all that belongs to it: its keeper, its acceptor, its end of each
// rail.
//
// A comm lives in one of them, with all its flows. Each has a range of local TCP ports of its own and a queue
// pair of each NIC; docs/engines.md says how packets find their way.
#pragma once

#include <memory>
#include <vector>

#include "config/config.h"
#include "transport/tcp/comm/context.h"
#include "transport/tcp/engine/engine.h"
#include "transport/tcp/engine/progress.h"
#include "transport/tcp/nic/data_path_guard.h"
#include "transport/tcp/rails/rail.h"
#include "transport/tcp/session/acceptor.h"

namespace tfabric::tcp {

class Engines {
 public:
  struct Unit {
    explicit Unit(const engine::EngineOptions& options) : engine(options), acceptor(engine, peers) {
      engine.set_acceptor(&acceptor);
    }
    engine::Engine engine;
    Peers peers;
    Acceptor acceptor;
    std::unique_ptr<engine::Progress> progress;
    std::vector<std::unique_ptr<Rail>> rails;
  };

  // `options`: of all of them, but for number and ports. EAL must be running.
  Engines(const config::Config& config, const engine::EngineOptions& options, std::uint16_t count);
  ~Engines();  // flows get a moment to end in order; the comms must be gone
  Engines(const Engines&) = delete;
  Engines& operator=(const Engines&) = delete;

  Status open_rails(const config::Tcp& config);
  [[nodiscard]] const std::vector<std::unique_ptr<Unit>>& units() const { return units_; }
  [[nodiscard]] engine::ProgressMode mode() const { return mode_; }

  // How many the rails can have, of those configured: each NIC must have a queue pair for each. Says so in
  // the log if these are fewer.
  static Result<std::uint16_t> count_for(const config::Tcp& config);

 private:
  // Bursts run with their engine held.
  class Gate final : public nic::DataPathGuard {
   public:
    explicit Gate(Engines& engines) : engines_(&engines) { nic::set_data_path_guard(this); }
    ~Gate() { nic::set_data_path_guard(nullptr); }
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    void pause() override;
    void resume() override;

   private:
    Engines* engines_;
  };

  void linger();
  void tell() const;

  engine::PortMap ports_;
  engine::ProgressMode mode_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::unique_ptr<Gate> gate_;
};

}  // namespace tfabric::tcp
