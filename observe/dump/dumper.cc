#include "observe/dump/dumper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <ctime>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "base/fork_guard.h"
#include "base/log.h"
#include "base/thread.h"
#include "observe/dump/capture.h"
#include "observe/dump/folder.h"
#include "observe/dump/limits.h"
#include "observe/dump/text.h"

namespace tfabric::dump {
namespace {

// So many packets of flows that live have 3 MB at most; keepsakes come to them.
constexpr std::uint64_t kMostPackets = 16384;
constexpr std::size_t kSlots = 16;
// The most that hurry() waits. A page is read in a few milliseconds.
constexpr Duration kReading = std::chrono::milliseconds(200);

// What one thread rings, and another one waits for. A wait may end early.
class Bell {
 public:
  void ring() const { eventfd_write(event_.get(), 1); }
  void wait(Duration most) const {
    pollfd waiting{.fd = event_.get(), .events = POLLIN, .revents = 0};
    const int ms = most == Duration::max() ? -1 : static_cast<int>(in_milliseconds(most) + 1);
    if (poll(&waiting, 1, ms) == 1) {
      eventfd_t rung = 0;
      eventfd_read(event_.get(), &rung);
    }
  }

 private:
  PrivateDescriptor event_{Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))};
};

// The comm's flows first, then the others, as far as there is room for their packets.
std::set<std::uint64_t> flows_for(const observe::Snapshot& page, std::uint64_t comm, std::uint64_t records) {
  const std::vector<observe::Row<observe::FlowFacts>> living = observe::rows_of<observe::FlowFacts>(page);
  const std::size_t most = std::max<std::uint64_t>(1, kMostPackets / std::max<std::uint64_t>(1, records));
  std::set<std::uint64_t> flows;
  for (const bool own : {true, false}) {
    for (const auto& flow : living) {
      const bool is_own = comm != 0 && flow.comm == comm;
      if (flows.size() < most && is_own == own) {
        flows.insert(flow.id);
      }
    }
  }
  return flows;
}

}  // namespace

class Dumper::Work {
 public:
  Work(DumperOptions options, observe::Page& page)
      : options_(std::move(options)),
        file_(Descriptor(
            page.rings().memory == nullptr ? -1 : fcntl(page.descriptor(), F_DUPFD_CLOEXEC, /*from=*/3))),
        records_(page.records()),
        limits_(file_.get() < 0 ? 0 : options_.most),
        page_(&page) {
    slots_.fill(observe::Page::kNone);
  }

  struct Request {
    std::string cause, said;
    std::uint64_t comm = 0;
    Instant due{};
  };

  // Returns true if the thread is to be started.
  bool ask(std::string_view cause, std::string_view said, std::uint64_t comm, Instant now) {
    const std::lock_guard guard(mutex_);
    if (!limits_.admit(cause, now)) {
      return false;
    }
    requests_.push_back(
        {.cause = std::string(cause), .said = std::string(said), .comm = comm, .due = now + options_.delay});
    work_.ring();
    return !std::exchange(started_, true);
  }
  void hurry();
  void run();
  void cannot_start(const std::string& why);
  // Waits until all is written, or for as long as that may take. Nothing uses the page afterwards. Returns
  // false if the thread is still at it.
  bool end();

 private:
  std::optional<Request> next();
  Status dump(const Request& request);
  void wrote(const Request& request, const std::string& files);
  void give_up(std::size_t tried);

  const DumperOptions options_;
  const PrivateDescriptor file_;  // the page, which this may outlive; -1: there is none
  const std::uint32_t records_;
  const Bell work_, rest_;  // rung by those who ask, and by the thread
  std::atomic<bool> stop_{false}, given_up_{false}, over_{false};
  std::atomic<std::uint64_t> reads_{0};  // how often the page has been read
  std::mutex mutex_;                     // guards the rest
  bool started_ = false;
  std::deque<Request> requests_;
  Limits limits_;
  observe::Page* page_;  // null: it is gone
  std::array<std::uint32_t, kSlots> slots_{};
  std::uint64_t written_ = 0;
};

void Dumper::Work::hurry() {
  const std::uint64_t reads = reads_;
  {
    const std::lock_guard guard(mutex_);
    if (requests_.empty() || !started_) {
      return;
    }
    for (Request& request : requests_) {
      request.due = Instant{};
    }
  }
  work_.ring();
  for (const Instant end = monotonic_now() + kReading; reads_ == reads && monotonic_now() < end;) {
    rest_.wait(end - monotonic_now());
  }
}

std::optional<Dumper::Work::Request> Dumper::Work::next() {
  while (!given_up_) {
    Duration wait = Duration::max();
    {
      const std::lock_guard guard(mutex_);
      if (requests_.empty() && stop_) {
        return std::nullopt;
      }
      if (!requests_.empty()) {
        wait = requests_.front().due - monotonic_now();
        if (wait <= Duration{} || stop_) {
          Request request = std::move(requests_.front());
          requests_.pop_front();
          return request;
        }
      }
    }
    work_.wait(wait);
  }
  return std::nullopt;
}

void Dumper::Work::run() {
  while (const auto request = next()) {
    const Status status = dump(*request);
    if (!status && !given_up_) {
      TF_INFO(
          "NET/tfabric: no dump was left (observe.dump_folder): {}. The next try is in {} minutes at the "
          "earliest",
          status.error().message, std::chrono::duration_cast<std::chrono::minutes>(Limits::kRest).count());
      give_up(1);
    }
  }
  over_ = true;
  rest_.ring();
}

Status Dumper::Work::dump(const Request& request) {
  const auto page = observe::read_page(file_.get(), monotonic_now());
  if (!page) {
    return page.error();
  }
  const std::set<std::uint64_t> flows = flows_for(*page, request.comm, records_);
  const auto rings = observe::read_rings(file_.get(), &flows);
  ++reads_;
  rest_.ring();
  if (!rings) {
    return rings.error();
  }
  const std::string said = fmt::format("{} [{}]", request.said, request.cause);
  const Capture capture =
      make_capture(*page, *rings, {.application = "tfabric", .comment = said, .epoch = epoch()});
  const std::string text = said + "\n\n" + text_of(*page, request.comm);
  const std::string path = options_.folder.empty() ? Folder::default_path() : options_.folder;
  const auto folder = Folder::open(path, !options_.folder.empty());
  if (!folder) {
    return folder.error();
  }
  const auto& bytes = capture.file.bytes();
  folder->make_room(bytes.size() + text.size());
  const std::string name = file_name(*page, page->host, page->pid, std::time(nullptr)) + "-" + request.cause;
  if (records_ != 0) {
    if (Status status = folder->write(name + ".pcapng", bytes, given_up_); !status) {
      return status;
    }
  }
  if (Status status = folder->write(name + ".txt", std::as_bytes(std::span(text)), given_up_); !status) {
    return status;
  }
  wrote(request, path + "/" + name);
  return {};
}

void Dumper::Work::wrote(const Request& request, const std::string& files) {
  const std::string path = files + (records_ == 0 ? ".txt" : ".pcapng");
  if (!given_up_) {
    TF_INFO("NET/tfabric: {}: {}", request.cause,
            records_ == 0
                ? fmt::format("what was seen is in {}", path)
                : fmt::format("the last packets, and what was seen, are in {} and the .txt beside it", path));
  }
  const std::lock_guard guard(mutex_);
  if (page_ == nullptr) {
    return;
  }
  observe::DumpFacts facts;
  facts.number = ++written_;
  facts.written_at = in_nanoseconds(monotonic_now());
  observe::put(facts.cause, request.cause);
  observe::put(facts.capture, path);
  std::uint32_t& slot = slots_[(written_ - 1) % kSlots];
  slot = slot == observe::Page::kNone ? page_->take(observe::Table::dump) : slot;
  page_->publish(slot, page_->new_id(), facts);
}

void Dumper::Work::cannot_start(const std::string& why) {
  TF_INFO("NET/tfabric: no dump was left: {}", why);
  give_up(0);
  const std::lock_guard guard(mutex_);
  started_ = false;
}

// Those that wait would fail as well.
void Dumper::Work::give_up(std::size_t tried) {
  const std::lock_guard guard(mutex_);
  limits_.failed(tried + requests_.size(), monotonic_now());
  requests_.clear();
}

bool Dumper::Work::end() {
  stop_ = true;
  work_.ring();
  {
    const std::lock_guard guard(mutex_);
    over_ = over_ || !started_;
  }
  // The last tenth is for removing what is unfinished.
  const Instant begin = monotonic_now();
  for (const Duration part : {options_.patience * 9 / 10, options_.patience}) {
    while (!over_ && monotonic_now() - begin < part) {
      rest_.wait(part - (monotonic_now() - begin));
    }
    given_up_ = true;
  }
  const std::lock_guard guard(mutex_);
  for (const std::uint32_t slot : slots_) {
    page_->give_back(observe::Table::dump, slot);
  }
  page_ = nullptr;
  return over_;
}

Dumper::Dumper(DumperOptions options, observe::Page& page)
    : work_(std::make_shared<Work>(std::move(options), page)) {}

Dumper::~Dumper() {
  const bool over = work_->end();
  if (!thread_.joinable()) {
    return;
  }
  if (over) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void Dumper::hurry() { work_->hurry(); }

void Dumper::request(std::string_view cause, std::string_view said, std::uint64_t comm, Instant now) {
  if (!work_->ask(cause, said, comm, now)) {
    return;
  }
  try {
    thread_ = start_thread("tfabric-observe", [work = work_] { work->run(); });
  } catch (const std::system_error& error) {
    work_->cannot_start(error.what());
  }
}

}  // namespace tfabric::dump
