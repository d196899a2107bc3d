// Which addresses are those of one peer, and whose they are.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/stat/rates.h"

namespace tfabric::stat {

class Peers {
 public:
  explicit Peers(const std::vector<Process>& processes);

  // An address of the peer that this address belongs to, always the same one.
  [[nodiscard]] std::string peer_of(const std::string& address) const;
  // "10.0.3.7 (eni3 of gpu2)"; the address alone if it is not known whose it is.
  [[nodiscard]] std::string describe(const std::string& address) const;
  // "gpu2", or the addresses that are known of the peer, if not more.
  [[nodiscard]] std::string name_of_peer(const std::string& address) const;

 private:
  void unite(const std::string& a, const std::string& b);
  void add_rails(const Process& process);
  void add_comms(const Process& process);

  std::map<std::string, std::string> above_;  // an address of the same peer, nearer to the first
  std::map<std::string, std::string> first_;  // of a host, or of a process: an address
  struct Owner {
    std::string rail, name;
  };
  std::map<std::string, Owner> owners_;
};

}  // namespace tfabric::stat
