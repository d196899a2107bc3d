#include "transport/tcp/engine/output_queue.h"

#include <catch2/catch.hpp>
#include <deque>
#include <random>
#include <type_traits>
#include <vector>

#include "transport/tcp/engine/flow.h"

namespace tfabric::engine {

TEST_CASE("flows get their turns in the order in which they asked, like in a plain queue") {
  constexpr unsigned kSeed = 20261121;
  INFO("seed " << kSeed);
  std::mt19937 random(kSeed);
  // Only their addresses matter.
  std::vector<std::aligned_storage_t<sizeof(Flow), alignof(Flow)>> places(64);
  const auto flow_at = [&](std::size_t i) { return reinterpret_cast<Flow*>(&places[i]); };
  OutputQueue queue;
  std::deque<Flow*> model;
  for (int step = 0; step < 100'000; ++step) {
    // Long waves of growth and decline, down to nothing.
    const bool grow = step / 500 % 2 == 0 ? random() % 3 != 0 : random() % 3 == 0;
    if (grow || model.empty()) {
      Flow* flow = flow_at(random() % places.size());
      queue.push(*flow);
      model.push_back(flow);
    } else {
      REQUIRE(&queue.pop() == model.front());
      model.pop_front();
    }
    REQUIRE(queue.size() == model.size());
  }
  queue.clear();
  CHECK(queue.size() == 0);
}

}  // namespace tfabric::engine
