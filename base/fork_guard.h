// What must end with this process, whatever children it leaves.
//
// A child that is forked, as by data loaders, has all descriptors of its parent until it calls exec, and
// shares its mappings of files. If the parent is killed, a NIC, an AF_XDP queue or a TAP would stay taken for
// as long as the child lives, and the peer of a socket would not notice the parent's end. So forked children
// close the descriptors that are registered here (pthread_atfork(3)), and do not get the mappings at all. The
// library cannot be used in such a child anyway: its threads exist in the parent alone.
//
// All functions are thread-safe.
#pragma once

#include <cstddef>
#include <utility>

#include "base/descriptor.h"

namespace tfabric {

// Registers a descriptor, and returns it. Negative ones, the results of failed calls, are ignored.
int close_in_children(int descriptor);
// Call it before the descriptor is closed: its number may soon be another file's.
void forget_descriptor(int descriptor);
// Keeps a mapping out of children. It is an error of the program if a child touches that memory.
void keep_from_children(void* address, std::size_t size);

// A descriptor that is registered as long as it is open.
class PrivateDescriptor {
 public:
  explicit PrivateDescriptor(Descriptor descriptor) : descriptor_(std::move(descriptor)) {
    close_in_children(descriptor_.get());
  }
  ~PrivateDescriptor() { forget_descriptor(descriptor_.get()); }
  PrivateDescriptor(PrivateDescriptor&&) noexcept = default;
  PrivateDescriptor& operator=(PrivateDescriptor&&) = delete;
  PrivateDescriptor(const PrivateDescriptor&) = delete;
  PrivateDescriptor& operator=(const PrivateDescriptor&) = delete;

  [[nodiscard]] int get() const { return descriptor_.get(); }
  // Closes the descriptor.
  void reset() {
    forget_descriptor(descriptor_.get());
    descriptor_.reset();
  }

 private:
  Descriptor descriptor_;
};

}  // namespace tfabric
