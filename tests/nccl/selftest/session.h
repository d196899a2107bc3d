// The communicator of one rank, its stream, and the buffers that all operations use.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <cstddef>
#include <string_view>
#include <vector>

#include "tests/nccl/selftest/error.h"
#include "tests/nccl/selftest/options.h"

namespace selftest {

// Memory of the fake device.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t size) : size_(size) { check(cudaMalloc(&data_, size)); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { cudaFree(data_); }

  // The element at `index`, for NCCL's calls.
  template <class T = float>
  [[nodiscard]] T* at(std::size_t index = 0) const {
    return static_cast<T*>(data_) + index;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

  template <class T>
  void write(const std::vector<T>& values) {
    check(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  template <class T>
  void read(std::vector<T>& values, std::size_t first = 0) const {
    check(cudaMemcpy(values.data(), at<T>(first), values.size() * sizeof(T), cudaMemcpyDeviceToHost));
  }
  // Fills the beginning with bytes that no result has.
  void spoil(std::size_t size) { check(cudaMemset(data_, 0xee, size)); }

 private:
  void* data_ = nullptr;
  std::size_t size_;
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Session {
 public:
  explicit Session(const Options& options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // After a failure the communicator stays open until the process ends, since closing it might never return.
  ~Session() = default;
  void close();

  [[nodiscard]] int rank() const { return options_.rank; }
  [[nodiscard]] int ranks() const { return options_.ranks; }
  [[nodiscard]] std::size_t max_bytes() const { return options_.max_bytes; }
  [[nodiscard]] ncclComm_t comm() const { return comm_; }
  [[nodiscard]] const Stream& stream() const { return stream_; }
  [[nodiscard]] DeviceBuffer& input() { return input_; }    // max_bytes
  [[nodiscard]] DeviceBuffer& output() { return output_; }  // max_bytes for each rank

  // Waits for the stream as an application must: by polling. Errors of the network reach it through
  // ncclCommGetAsyncError only, and a kernel that waits for the network ends on ncclCommAbort. Throws then,
  // and after the limit of `options`.
  void wait(std::string_view operation);

 private:
  [[noreturn]] void abort(ExitCode code, std::string_view operation, std::string_view why);

  Options options_;
  ncclComm_t comm_ = nullptr;
  Stream stream_;
  DeviceBuffer input_, output_;
  void* input_registration_ = nullptr;
  void* output_registration_ = nullptr;
};

}  // namespace selftest
