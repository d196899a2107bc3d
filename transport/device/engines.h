// The engines of the process, each with what belongs to it: its progress, its acceptor, its end of each rail.
//
// A comm lives in one engine, with all its flows. Each engine has a range of local TCP ports and a queue pair
// of each NIC of its own; docs/tcp.md says how packets find their engine.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "config/config.h"
#include "transport/comm/context.h"
#include "transport/device/rail_summary.h"
#include "transport/engine/progress.h"
#include "transport/process/process.h"
#include "transport/rails/rail.h"
#include "transport/report/engine_report.h"
#include "transport/session/acceptor.h"
#include "transport/tcp/link/tcp.h"
#include "transport/tcp/nic/control_thread.h"
#include "transport/transport.h"

namespace tfabric::device {

class Engines {
 public:
  struct Unit {
    Unit(const engine::EngineOptions& options, const link::Options& tcp_options)
        : engine(options), tcp(add_tcp(engine, tcp_options)), acceptor(peers.comms) {
      engine.set_acceptor(&acceptor);
    }
    std::unique_ptr<report::EngineReport> report;  // null: nothing is shown or watched
    engine::Engine engine;
    link::Tcp& tcp;  // the engine's
    comm::Peers peers;
    session::Acceptor acceptor;
    std::unique_ptr<engine::Progress> progress;
    std::vector<std::unique_ptr<rails::Rail>> rails;
    std::vector<std::string> others;  // the names of rails that are none of these
  };

  // `options`: of every engine, but for the ports. The process outlives the engines; the first of them lets
  // it take faults. EAL must be running.
  Engines(const config::Config& config, const link::Options& options, std::uint16_t count,
          process::Process& process);
  // Gives flows some time to end in order. The comms must be gone.
  ~Engines();
  Engines(const Engines&) = delete;
  Engines& operator=(const Engines&) = delete;

  // Opens them for all engines. Those that are probed (rail_probe.h) are not announced to the network yet.
  // Returns the faults of those whose device cannot be opened, and of those that are known to be missing,
  // which are not tried; each has its place, with nothing behind it (absent_rail.h).
  Result<std::vector<transport::RailFault>> open_rails(const config::Tcp& config,
                                                       std::span<const transport::RailFault> missing);
  Status open_rail(const config::Rail& rail);
  // A rail of one engine alone, whose carriers are none of these classes' doing: that is new, or has changed.
  void show_rail(Unit& unit, report::ShownRail rail);
  // Tries all rails at once, and returns their faults; takes seconds if there are any. Rails must be open.
  [[nodiscard]] std::vector<transport::RailFault> probe_rails();
  void announce_rails();
  // Starts without the rails that have these faults: those that are open are used once they work, but for one
  // whose address another host has, which would break that host's traffic.
  void start_without(std::span<const transport::RailFault> faults);

  [[nodiscard]] const std::vector<std::unique_ptr<Unit>>& units() const { return units_; }
  [[nodiscard]] engine::ProgressMode mode() const { return mode_; }

  // How many of the configured engines the rails allow: each NIC must have a queue pair for each engine. Logs
  // a warning if these are fewer. Those that are `missing`, or cannot be asked, do not count: they
  // cannot be opened either. EAL must be running.
  static std::uint16_t count_for(const config::Tcp& config, std::span<const transport::RailFault> missing);

 private:
  // Pauses the data path by taking all engines' locks: bursts run with their engine held.
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

  [[nodiscard]] std::vector<link::Tcp*> all() const;
  // Returns true if an engine has a link of the rail.
  [[nodiscard]] bool has_link(const config::Rail& rail) const;
  void show_last_rail(Unit& unit);
  // Returns false if the rail can have no place.
  bool add_absent(const config::Rail& rail, const std::string& why);
  void leave_out(const transport::RailFault& fault);
  void linger();
  void log_rails() const;
  [[nodiscard]] RailSummary summary_of(const std::string& rail) const;
  void log_counters() const;

  link::PortMap ports_;
  engine::ProgressMode mode_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::unique_ptr<Gate> gate_;
  process::FaultControl* faults_;  // null: it takes none
};

}  // namespace tfabric::device
