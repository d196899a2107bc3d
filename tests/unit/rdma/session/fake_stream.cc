#include "fake_stream.h"

#include <algorithm>
#include <cerrno>

namespace tfabric::rdma::session {

Transfer FakeStream::read(std::span<std::byte> bytes) {
  if (in_->reading_rests) {
    in_->reading_rests = false;
    return {};
  }
  const std::size_t count = std::min({bytes.size(), in_->bytes.size(), in_->piece});
  if (count == 0) {
    return {.closed = in_->closed || wire_->cut()};
  }
  std::copy_n(in_->bytes.begin(), count, bytes.begin());
  in_->bytes.erase(in_->bytes.begin(), in_->bytes.begin() + static_cast<std::ptrdiff_t>(count));
  in_->reading_rests = in_->piece != SIZE_MAX;
  return {.bytes = count};
}

Transfer FakeStream::write(std::span<const std::byte> bytes) {
  FakePipe& pipe = *out_;
  if (pipe.refused != 0 || wire_->cut() || in_->closed) {
    return {.error = pipe.refused != 0 ? pipe.refused : ECONNRESET};
  }
  if (pipe.connecting || pipe.rests) {
    pipe.rests = false;
    return {};
  }
  std::size_t count = std::min({bytes.size(), pipe.piece, pipe.cut_at - pipe.written});
  if (pipe.written <= pipe.pause_at) {
    count = std::min(count, pipe.pause_at - pipe.written);
  }
  const std::size_t arriving = std::min(count, pipe.stalled_at - std::min(pipe.stalled_at, pipe.written));
  pipe.bytes.insert(pipe.bytes.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(arriving));
  pipe.written += count;
  if (pipe.written == pipe.pause_at) {
    pipe.pause_at = SIZE_MAX;
    pipe.rests = true;
  }
  pipe.rests = pipe.rests || pipe.piece != SIZE_MAX;
  return {.bytes = count};
}

std::unique_ptr<Stream> stream_with(const std::vector<std::byte>& bytes, bool stays,
                                    std::shared_ptr<FakeWire>* wire) {
  auto own = std::make_shared<FakeWire>();
  own->to_acceptor.bytes.assign(bytes.begin(), bytes.end());
  own->to_acceptor.closed = !stays;
  if (wire != nullptr) {
    *wire = own;
  }
  return std::make_unique<FakeStream>(own, /*connector=*/false);
}

}  // namespace tfabric::rdma::session
