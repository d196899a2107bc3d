// The few functions of the CUDA driver that NCCL asks the runtime for, or, before 2.18, the driver's library.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <array>
#include <string_view>

#include "tests/nccl/fakecuda/address.h"
#include "tests/nccl/fakecuda/api.h"
#include "tests/nccl/fakecuda/device.h"
#include "tests/nccl/fakecuda/kernels/kernel.h"
#include "tests/nccl/fakecuda/launch.h"
#include "tests/nccl/fakecuda/log.h"
#include "tests/nccl/fakecuda/memory.h"
#include "tests/nccl/fakecuda/symbols.h"

namespace fakecuda {
namespace {

CUresult device_get(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult device_get_attribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = device_attribute(attribute);
  return CUDA_SUCCESS;
}

CUresult device_get_uuid(CUuuid* uuid, CUdevice device) {
  *uuid = {};
  uuid->bytes[0] = static_cast<char>(device + 1);
  return CUDA_SUCCESS;
}

CUresult get_error_string(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "no error" : "fakecuda driver error";
  return CUDA_SUCCESS;
}

// An opaque pointer, which is only passed back.
char the_context;

CUresult context_get_current(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(&the_context);
  return CUDA_SUCCESS;
}

CUresult context_set_current(CUcontext) { return CUDA_SUCCESS; }

CUresult context_get_device(CUdevice* device) {
  *device = current_device();
  return CUDA_SUCCESS;
}

CUresult memory_get_address_range(CUdeviceptr* base, std::size_t* size, CUdeviceptr data) {
  const auto allocation = find_allocation(at_address(data));
  if (!allocation) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (base != nullptr) {
    *base = allocation->base;
  }
  if (size != nullptr) {
    *size = allocation->size;
  }
  return CUDA_SUCCESS;
}

CUresult pointer_get_attribute(void* out, CUpointer_attribute attribute, CUdeviceptr data) {
  const auto allocation = find_allocation(at_address(data));
  if (!allocation) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  int& value = *static_cast<int*>(out);
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      value = allocation->device;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      value = 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      value = allocation->type == cudaMemoryTypeHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

// Arguments come as a list of (key, value) in `extra`, or as pointers to each in `parameters`. NCCL's kernels
// take one structure.
CUresult launch(CUfunction function, unsigned blocks, CUstream stream, void** parameters, void** extra) {
  const void* arguments = nullptr;
  std::size_t size = 0;
  if (extra != nullptr) {
    for (int i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
      if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
        arguments = extra[i + 1];
      }
      if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
        size = *static_cast<std::size_t*>(extra[i + 1]);
      }
    }
  } else if (parameters != nullptr) {
    arguments = parameters[0];
    size = kernels::argument_bytes(function);
  }
  trace(1, "launch {} grid={} arguments={} bytes", symbol_name(function), blocks, size);
  if (arguments == nullptr || size == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return enqueue_kernel(function, blocks, stream, arguments, size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

// Asked for before an all-gather's algorithm is chosen, though nothing is allocated with it.
CUresult memory_granularity(std::size_t* granularity, const CUmemAllocationProp*,
                            CUmemAllocationGranularity_flags) {
  *granularity = std::size_t{2} << 20;
  return CUDA_SUCCESS;
}

CUresult launch_kernel(CUfunction function, unsigned blocks, unsigned, unsigned, unsigned, unsigned, unsigned,
                       unsigned, CUstream stream, void** parameters, void** extra) {
  return launch(function, blocks, stream, parameters, extra);
}

CUresult launch_kernel_ex(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) {
      cudaEventRecord(config->attrs[i].value.launchCompletionEvent.event, config->hStream);
    }
  }
  return launch(function, config->gridDimX, config->hStream, parameters, extra);
}

struct EntryPoint {
  std::string_view name;
  void* function;
};

template <class Function>
EntryPoint entry(std::string_view name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

void* find_entry_point(std::string_view name) {
  static const std::array kEntryPoints{
      entry("cuDeviceGet", device_get),
      entry("cuDeviceGetAttribute", device_get_attribute),
      entry("cuDeviceGetUuid", device_get_uuid),
      entry("cuGetErrorString", get_error_string),
      entry("cuGetErrorName", get_error_string),
      entry("cuCtxGetCurrent", context_get_current),
      entry("cuCtxSetCurrent", context_set_current),
      entry("cuCtxGetDevice", context_get_device),
      entry("cuMemGetAddressRange", memory_get_address_range),
      entry("cuMemGetAllocationGranularity", memory_granularity),
      entry("cuPointerGetAttribute", pointer_get_attribute),
      entry("cuLaunchKernel", launch_kernel),
      entry("cuLaunchKernelEx", launch_kernel_ex),
  };
  for (const EntryPoint& point : kEntryPoints) {
    if (point.name == name) {
      return point.function;
    }
  }
  return nullptr;
}

}  // namespace
}  // namespace fakecuda

FAKECUDA_API cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                                          unsigned long long,
                                                          cudaDriverEntryPointQueryResult* result) {
  *function = fakecuda::find_entry_point(name);
  const bool found = *function != nullptr;
  if (result != nullptr) {
    *result = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  }
  fakecuda::trace(3, "driver entry point {}: {}", name, found ? "given" : "absent");
  return found ? cudaSuccess : cudaErrorSymbolNotFound;
}

// What an NCCL that was built with CUDA 12 or 11 calls instead. There was no `result` before 12.
FAKECUDA_API cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                                 cudaDriverEntryPointQueryResult* result) {
  const bool has_result = fakecuda::toolkit() >= 12;
  return cudaGetDriverEntryPointByVersion(name, function, 0, flags, has_result ? result : nullptr);
}

// NCCL before 2.18 opens the driver's library, NCCL_CUDA_PATH + "libcuda.so", which is this one then.
FAKECUDA_API CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
FAKECUDA_API CUresult cuDriverGetVersion(int* version) {
  *version = fakecuda::driver_version();
  return CUDA_SUCCESS;
}
#undef cuGetProcAddress
FAKECUDA_API CUresult cuGetProcAddress(const char* name, void** function, int, cuuint64_t) {
  *function = fakecuda::find_entry_point(name);
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
