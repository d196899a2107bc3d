// Between what the bootstrap tells (Offer) and what comms are made of (Endpoint, CommEnd).
//
// A comm of a device has one rail: that of its port. Its end is rail `rail` of the host's offer.
#pragma once

#include <cstddef>

#include "config/config.h"
#include "transport/rdma/cm/listening.h"
#include "transport/rdma/lane/connection.h"
#include "transport/rdma/lane/endpoint.h"
#include "transport/rdma/memory/gpu_memory.h"
#include "transport/rdma/session/offer.h"

namespace tfabric::rdma {

[[nodiscard]] ConnectionOptions connection_options(const config::Rdma& wishes, ibv::LinkLayer link_layer,
                                                   const GpuMemory& gpu_memory,
                                                   const session::OfferOptions& agreed);

// Adds queue pairs, memory and keys of the endpoint, which has not been connected.
void add_endpoint(const Endpoint& endpoint, std::size_t rail, session::Offer& offer);

// `offer` has passed the bootstrap's checks. Errc::remote: it lacks what a comm needs.
[[nodiscard]] Result<CommEnd> end_of(const session::Offer& offer, std::size_t rail);

// Where the rail's queue pairs are to be connected by rdma_cm, in the answer of a comm.
void add_listening(const cm::Listening& listening, std::size_t rail, session::Offer& answer);
[[nodiscard]] cm::Listening listening_of(const session::Offer& answer, std::size_t rail);

}  // namespace tfabric::rdma
