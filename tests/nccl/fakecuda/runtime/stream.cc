// Runtime API: streams. Nothing is ever captured into a graph.
#include "tests/nccl/fakecuda/api.h"
#include "tests/nccl/fakecuda/events.h"
#include "tests/nccl/fakecuda/runtime/error.h"
#include "tests/nccl/fakecuda/streams.h"

using namespace fakecuda;

FAKECUDA_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = create_stream();
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, 0);
}

FAKECUDA_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}

FAKECUDA_API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return destroy_stream(stream) ? cudaSuccess : fail(cudaErrorInvalidResourceHandle);
}

FAKECUDA_API cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  const auto stream = find_stream(handle);
  if (stream == nullptr) {
    return fail(cudaErrorInvalidResourceHandle);
  }
  stream->drain();
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaStreamQuery(cudaStream_t handle) {
  const auto stream = find_stream(handle);
  if (stream == nullptr) {
    return fail(cudaErrorInvalidResourceHandle);
  }
  return stream->idle() ? cudaSuccess : cudaErrorNotReady;
}

FAKECUDA_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream_handle, cudaEvent_t event_handle, unsigned) {
  const auto event = find_event(event_handle);
  const auto stream = find_stream(stream_handle);
  if (event == nullptr || stream == nullptr) {
    return fail(cudaErrorInvalidResourceHandle);
  }
  stream->push([event, record = event->last_record()] { event->wait(record); });
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* argument) {
  const auto stream = find_stream(handle);
  if (stream == nullptr) {
    return fail(cudaErrorInvalidResourceHandle);
  }
  stream->push([=] { function(argument); });
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus* status,
                                                  unsigned long long* id, cudaGraph_t* graph,
                                                  const cudaGraphNode_t** dependencies,
                                                  const cudaGraphEdgeData** edges, std::size_t* count) {
  const auto clear = [](auto* out) {
    if (out != nullptr) {
      *out = {};
    }
  };
  if (status != nullptr) {
    *status = cudaStreamCaptureStatusNone;
  }
  clear(id);
  clear(graph);
  clear(dependencies);
  clear(edges);
  clear(count);
  return cudaSuccess;
}

// What an NCCL that was built with CUDA 12 calls instead.
FAKECUDA_API cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                                     unsigned long long* id, cudaGraph_t* graph,
                                                     const cudaGraphNode_t** dependencies,
                                                     std::size_t* count) {
  return cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, nullptr, count);
}

FAKECUDA_API cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }
