// Runtime API: events.
#include "tests/nccl/fakecuda/api.h"
#include "tests/nccl/fakecuda/events.h"
#include "tests/nccl/fakecuda/runtime/error.h"
#include "tests/nccl/fakecuda/streams.h"

using namespace fakecuda;

FAKECUDA_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = create_event();
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

FAKECUDA_API cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return destroy_event(event) ? cudaSuccess : fail(cudaErrorInvalidResourceHandle);
}

FAKECUDA_API cudaError_t cudaEventRecord(cudaEvent_t event_handle, cudaStream_t stream_handle) {
  const auto event = find_event(event_handle);
  const auto stream = find_stream(stream_handle);
  if (event == nullptr || stream == nullptr) {
    return fail(cudaErrorInvalidResourceHandle);
  }
  stream->push([event, record = event->record()] { event->complete(record); });
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}

FAKECUDA_API cudaError_t cudaEventQuery(cudaEvent_t handle) {
  const auto event = find_event(handle);
  if (event == nullptr) {
    return fail(cudaErrorInvalidResourceHandle);
  }
  return event->reached() ? cudaSuccess : cudaErrorNotReady;
}

FAKECUDA_API cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  const auto event = find_event(handle);
  if (event == nullptr) {
    return fail(cudaErrorInvalidResourceHandle);
  }
  event->wait(event->last_record());
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const auto first = find_event(from);
  const auto last = find_event(to);
  if (first == nullptr || last == nullptr) {
    return fail(cudaErrorInvalidResourceHandle);
  }
  *milliseconds = std::chrono::duration<float, std::milli>(last->when() - first->when()).count();
  return cudaSuccess;
}
