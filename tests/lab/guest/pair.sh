# A pair of rails in one machine: what guest/rails makes, and guest/tools/link puts back. Sourced by bash.

make_pair() { # NUMBER
  ip link add "vea$1" mtu 4200 type veth peer name "veb$1" mtu 4200
  local end
  for end in a:1 b:2; do
    ip address add "10.20.$1.${end#*:}/24" dev "ve${end%:*}$1"
    ip address add "fd20:$1::${end#*:}/64" dev "ve${end%:*}$1" nodad
    ip link set "ve${end%:*}$1" up
  done
}

# The words of one direction, by its end: other end, the two numbers of the hosts, and that of the table.
direction() { # a|b NUMBER
  if [[ $1 == a ]]; then echo "b 1 2 $((100 + 2 * $2))"; else echo "a 2 1 $((101 + 2 * $2))"; fi
}

# What the end sends to the other is looked up in a table of its own, and nowhere else when its route is gone.
rule_of() { # a|b NUMBER
  local other from to table
  read -r other from to table < <(direction "$@")
  ip -4 rule add preference "$table" iif lo from "10.20.$2.$from" to "10.20.$2.$to" lookup "$table"
  ip -6 rule add preference "$table" iif lo from "fd20:$2::$from" to "fd20:$2::$to" lookup "$table"
  ip -4 route add unreachable default metric 10000 table "$table"
  ip -6 route add unreachable default metric 10000 table "$table"
}

# What the kernel forgets when the interface goes down.
route_of() { # a|b NUMBER
  local other from to table network mac
  read -r other from to table < <(direction "$@")
  mac=$(<"/sys/class/net/ve$other$2/address")
  for network in "10.20.$2." "fd20:$2::"; do
    ip route replace "$network$to" dev "ve$1$2" src "$network$from" table "$table"
    ip neighbour replace "$network$to" dev "ve$1$2" lladdr "$mac" nud permanent
  done
}
