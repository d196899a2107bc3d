// The GPU that the process appears to have.
#pragma once

#include <string>

namespace fakecuda {

[[nodiscard]] int device_count();        // FAKECUDA_DEVICES
[[nodiscard]] int compute_capability();  // FAKECUDA_CC, as in 80 for 8.0
[[nodiscard]] int driver_version();      // FAKECUDA_DRIVER, as in 13000
[[nodiscard]] int toolkit();             // FAKECUDA_TOOLKIT: the CUDA that libnccl was built with, as in 13
// NCCL looks this up in sysfs, does not find it, and makes a place up.
[[nodiscard]] std::string bus_id(int device);  // FAKECUDA_BUSID for device 0
// cudaDevAttr* and CU_DEVICE_ATTRIBUTE_* share their numbers.
[[nodiscard]] int device_attribute(int attribute);

// Of the calling thread, as in CUDA.
[[nodiscard]] int current_device();
void set_current_device(int device);

}  // namespace fakecuda
