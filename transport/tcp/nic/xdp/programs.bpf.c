// The eBPF programs of rails' interfaces. `tests/bytecode/run --write` compiles them to bytecode.h.
//
// A program has a section of its own. The numbers of its maps are those of their descriptors in what
// program.cc gives with it: the texts have no relocations, so nothing has to link them.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>

#define PROGRAM(name) __attribute__((section("." #name), used))
#define MAP(number) ((void*)with_descriptor(BPF_PSEUDO_MAP_FD, number))
#define SWAPPED(value) __builtin_bswap16(value)  // between the byte orders of network and host

__u64 with_descriptor(__u64 kind, __u64 number) __asm__("llvm.bpf.pseudo");
static void* (*const look_up)(void* map, const void* key) = (void*)BPF_FUNC_map_lookup_elem;
static long (*const redirect)(void* map, __u64 key, __u64 otherwise) = (void*)BPF_FUNC_redirect_map;
static long (*const load)(const void* packet, __u32 offset, void* into,
                          __u32 bytes) = (void*)BPF_FUNC_skb_load_bytes;

// An IPv4 address is mapped (RFC 4291 §2.5.5.2).
struct address {
  __u32 words[4];
};
#define MAPPED (SWAPPED(0xffff) << 16)

// --- an interface that a rail has alone

// Map 0: a socket for each queue.
PROGRAM(lead_queues) int lead_queues(struct xdp_md* context) {
  const __u32 queue = context->rx_queue_index;
  return redirect(MAP(0), queue, XDP_PASS);
}

// --- queue subsets

struct ports {  // QueuePorts of program.h
  __u32 first, last;
};
struct segment {
  struct address to;
  __u16 port;  // in network byte order
};

// Returns 0 if the frame is no TCP segment over IPv4, or a fragment of one.
static inline int read_v4(const void* data, const void* end, struct segment* segment) {
  const struct iphdr* ip = data + sizeof(struct ethhdr);
  const __u16 kIsFragment = 0x3fff;  // more fragments follow, or it is not the first
  if (ip->protocol != IPPROTO_TCP || (ip->frag_off & SWAPPED(kIsFragment)) != 0) {
    return 0;
  }
  const struct tcphdr* tcp = (const void*)ip + ip->ihl * 4;
  if ((const void*)&tcp->seq > end) {
    return 0;
  }
  segment->to = (struct address){{0, 0, MAPPED, ip->daddr}};
  segment->port = tcp->dest;
  return 1;
}

// The same for IPv6 without extension headers.
static inline int read_v6(const void* data, const void* end, struct segment* segment) {
  const struct ipv6hdr* ip = data + sizeof(struct ethhdr);
  const struct tcphdr* tcp = (const void*)(ip + 1);
  if ((const void*)&tcp->seq > end || ip->nexthdr != IPPROTO_TCP) {
    return 0;
  }
  __builtin_memcpy(&segment->to, &ip->daddr, sizeof segment->to);
  segment->port = tcp->dest;
  return 1;
}

static inline int read_segment(const void* data, const void* end, struct segment* segment) {
  if (data + sizeof(struct ethhdr) + sizeof(struct iphdr) + sizeof(struct tcphdr) > end) {
    return 0;
  }
  // The kernel's structure is packed, and would be read byte by byte.
  const __u16 type = *(const __u16*)(data + __builtin_offsetof(struct ethhdr, h_proto));
  if (type == SWAPPED(ETH_P_IP)) {
    return read_v4(data, end, segment);
  }
  return type == SWAPPED(ETH_P_IPV6) && read_v6(data, end, segment);
}

// Maps 0 to 2: sockets, addresses that are ours, and TCP ports; the first and the last by queue.
PROGRAM(lead_segments) int lead_segments(struct xdp_md* context) {
  struct segment segment;
  if (!read_segment((void*)(long)context->data, (void*)(long)context->data_end, &segment) ||
      !look_up(MAP(1), &segment.to)) {
    return XDP_PASS;
  }
  const __u32 queue = context->rx_queue_index;
  const struct ports* ports = look_up(MAP(2), &queue);
  const __u16 port = SWAPPED(segment.port);
  if (!ports || port < ports->first || port > ports->last) {
    return XDP_PASS;
  }
  return redirect(MAP(0), queue, XDP_PASS);
}

// --- what the kernel's own stack does not see of an interface over AF_PACKET

struct tagged {  // TaggedAddress of program.cc
  struct address to;
  __u32 vlan;
};

// Map 0: the rail's addresses. A tag is no part of the frame here.
PROGRAM(drop_ingress) int drop_ingress(struct __sk_buff* packet) {
  const int kNextProgram = -1;   // from 6.6 on: TCX_NEXT of linux/bpf.h
  const __u32 kNumber = 0x0fff;  // IEEE 802.1Q: the rest is priority
  struct tagged tagged = {{{0, 0, MAPPED, 0}}, packet->vlan_tci & kNumber};
  __u16 type;
  if (load(packet, __builtin_offsetof(struct ethhdr, h_proto), &type, sizeof type) != 0) {
    return kNextProgram;
  }
  long failed = 1;
  if (type == SWAPPED(ETH_P_IP)) {
    failed = load(packet, ETH_HLEN + __builtin_offsetof(struct iphdr, daddr), &tagged.to.words[3], 4);
  } else if (type == SWAPPED(ETH_P_IPV6)) {
    failed = load(packet, ETH_HLEN + __builtin_offsetof(struct ipv6hdr, daddr), &tagged.to, 16);
  }
  return !failed && look_up(MAP(0), &tagged) ? TC_ACT_SHOT : kNextProgram;
}
