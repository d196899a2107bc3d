#include <catch2/catch.hpp>

#include "tests/unit/setup/run_setup.h"

using namespace tfabric;
using namespace tfabric::setup;
using Catch::Matchers::Contains;
using test::apply_setup;
using test::Ended;
using test::FakeKernel;
using test::run_setup;
using Verb = Request::Verb;

TEST_CASE("docker's flags name this host's groups, and no privilege") {
  FakeKernel kernel;
  kernel.add_cloud();
  REQUIRE(run_setup(kernel, {.verb = Verb::docker}).code == kNothing);
  REQUIRE(apply_setup(kernel).code == kOk);
  const Ended ended = run_setup(kernel, {.verb = Verb::docker});
  REQUIRE(ended.code == kOk);
  REQUIRE(
      ended.out ==
      "# tfabric on this host: 0000:00:06.0, 0000:00:07.0\n"
      "docker run \\\n"
      "  --device /dev/vfio/vfio \\\n"
      "  --device /dev/vfio/6 \\\n"
      "  --device /dev/vfio/7 \\\n"
      "  --ulimit memlock=-1 \\\n"
      "  --mount type=bind,source=/dev/hugepages,target=/dev/hugepages \\\n"
      "  --mount type=bind,source=/run/tfabric,target=/run/tfabric \\\n"
      "  --mount "
      "type=bind,source=/usr/local/tfabric/tools/config,target=/usr/local/tfabric/tools/config,readonly \\\n"
      "  IMAGE COMMAND\n");
}

TEST_CASE("a pod's fragment has this host's rails and hugepages") {
  FakeKernel kernel;
  kernel.add_cloud();
  REQUIRE(apply_setup(kernel).code == kOk);
  const Ended ended = run_setup(kernel, {.verb = Verb::kubernetes});
  REQUIRE(ended.code == kOk);
  REQUIRE_THAT(ended.out, Contains("\"pciAddresses\": [\"0000:00:06.0\", \"0000:00:07.0\"]") &&
                              Contains("tfabric/tfabric_rails: 2\n") && Contains("hugepages-2Mi: 160Mi\n") &&
                              Contains("hostPath: {path: /run/tfabric, type: Directory}") &&
                              Contains("add: [\"IPC_LOCK\"]") && !Contains("privileged: true"));
}

TEST_CASE("without an IOMMU a container gets further capabilities") {
  FakeKernel kernel;
  kernel.add_cloud();
  REQUIRE(apply_setup(kernel).code == kOk);
  for (const std::string group : {"6", "7"}) {
    kernel.files.write("/sys/kernel/iommu_groups/" + group + "/name", "vfio-noiommu\n");
  }
  const Ended ended = run_setup(kernel, {.verb = Verb::docker});
  REQUIRE_THAT(ended.out, Contains("--device /dev/vfio/noiommu-6") && Contains("--cap-add SYS_RAWIO"));
}

TEST_CASE("NICs that only privileged containers could use are an error") {
  FakeKernel kernel;
  kernel.add_cloud();
  kernel.modules = {"uio_pci_generic", "virtio-pci"};
  REQUIRE(apply_setup(kernel, {.allow_no_iommu = true}).code == kOk);
  const Ended ended = run_setup(kernel, {.verb = Verb::docker});
  REQUIRE(ended.code == kNothing);
  REQUIRE_THAT(ended.err, Contains("privileged"));
}
