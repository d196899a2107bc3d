#include "tools/check/examine.h"

#include "tools/check/address_check.h"
#include "tools/check/config_check.h"
#include "tools/check/interface_check.h"
#include "tools/check/lease_check.h"
#include "tools/check/memory_check.h"
#include "tools/check/nccl_check.h"
#include "tools/check/pci_check.h"
#include "tools/check/progress_check.h"
#include "tools/check/socket_check.h"
#include "tools/check/vfio_check.h"
#include "transport/registry.h"

namespace tfabric::check {
namespace {

void check_rail(const Host& host, const config::Config& config, const config::Rail& rail,
                Findings& findings) {
  switch (rail.kind) {
    case config::RailKind::pci:
      check_pci_rail(host, rail, findings);
      break;
    case config::RailKind::af_packet:
      check_af_packet_rail(host, rail, findings);
      break;
    case config::RailKind::af_xdp:
      check_af_xdp_rail(host, config, rail, findings);
      break;
    case config::RailKind::tap:
      check_tap_rail(host, rail, findings);
      break;
    case config::RailKind::memif:
    case config::RailKind::virtio_user:
    case config::RailKind::vhost:
      if (!config::is_automatic_memif(rail)) {
        check_socket_rail(host, rail, findings);
      }
      break;
  }
  if (!config::is_part_of_interface(rail)) {
    check_addresses(host, rail, findings);
  }
}

void check_tcp(const Host& host, const config::Config& config, Findings& findings) {
  check_vfio_modules(host, config.tcp, findings);
  for (const config::Rail& rail : config.tcp.rails) {
    check_rail(host, config, rail, findings);
  }
  check_leases(host, config, findings);
  check_memory(host, config, findings);
  check_progress(host, config, findings);
}

void check_transports(const Host& host, const config::Config& config, const RdmaLook& look,
                      Findings& findings) {
  const bool tcp = transport::prefers_tcp(config);
  const RdmaView rdma = look(host, config.rdma);
  // Of two ways that are closed, that which this host is made for is told first.
  const bool rdma_first = !tcp && !rdma.found.hcas.empty();
  if (rdma_first) {
    check_rdma(host, config, rdma, /*chosen=*/true, findings);
  }
  check_tcp_configured(config, rdma.usable().ok(), findings);
  if (tcp && !config.tcp.rails.empty()) {
    check_tcp(host, config, findings);
  }
  if (!rdma_first) {
    check_rdma(host, config, rdma, !tcp, findings);
  }
}

}  // namespace

Report examine(const Host& host, const RdmaLook& look) {
  Report report;
  check_nccl(host, report.findings);
  const Result<config::Config> config = check_config(host, report.findings);
  if (config) {
    check_transports(host, *config, look, report.findings);
  }
  report.verdict = judge(host, config, report.findings);
  return report;
}

}  // namespace tfabric::check
