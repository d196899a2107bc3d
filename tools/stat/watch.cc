#include "tools/stat/watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/time.h"
#include "tools/output.h"
#include "tools/stat/compare.h"
#include "tools/stat/findings.h"
#include "tools/stat/lines.h"
#include "tools/stat/rates.h"
#include "tools/stat/selection.h"
#include "tools/stat/tables.h"

namespace tfabric::stat {
namespace {

enum class Key { none, next, back, end };

// Keys of the terminal without waiting for the end of a line. Signals that end the program are taken here,
// so that the terminal is as before when it ends.
class Keys {
 public:
  Keys() {
    if (isatty(STDIN_FILENO) == 0 || tcgetattr(STDIN_FILENO, &before_) != 0) {
      return;
    }
    sigset_t ending;
    sigemptyset(&ending);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      sigaddset(&ending, signal);
    }
    pthread_sigmask(SIG_BLOCK, &ending, &mask_);
    signals_.emplace(signalfd(-1, &ending, SFD_CLOEXEC));
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  ~Keys() { restore(); }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  // Returns the first key within this time.
  Key wait(Duration time) {
    if (!signals_) {
      std::this_thread::sleep_for(time);
      return Key::none;
    }
    std::array<pollfd, 2> files{{{STDIN_FILENO, POLLIN, 0}, {signals_->get(), POLLIN, 0}}};
    poll(files.data(), files.size(),
         static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()));
    if (files[1].revents != 0) {
      signalfd_siginfo info{};
      if (read(signals_->get(), &info, sizeof info) == sizeof info) {
        restore();
        std::raise(static_cast<int>(info.ssi_signo));
      }
      return Key::end;
    }
    return files[0].revents == 0 ? Key::none : key();
  }

 private:
  static Key key() {
    std::array<char, 64> typed{};
    const ssize_t size = read(STDIN_FILENO, typed.data(), typed.size());
    if (size <= 0) {
      return Key::end;
    }
    const std::string_view text(typed.data(), static_cast<std::size_t>(size));
    const auto has = [text](std::string_view one) { return text.find(one) != std::string_view::npos; };
    if (has("\x1b[")) {
      return has("\x1b[6~") || has("\x1b[B")   ? Key::next
             : has("\x1b[5~") || has("\x1b[A") ? Key::back
                                               : Key::none;
    }
    return has("q")               ? Key::end
           : has(" ") || has("n") ? Key::next
           : has("b") || has("p") ? Key::back
                                  : Key::none;
  }
  void restore() {
    if (signals_) {
      tcsetattr(STDIN_FILENO, TCSANOW, &before_);
      signals_.reset();
      pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    }
  }

  termios before_{};
  sigset_t mask_{};
  std::optional<Descriptor> signals_;  // nothing: the terminal is left alone
};

std::string title(const std::vector<Process>& processes, double interval) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::string job;
  for (const Process& process : processes) {
    job = process.now.job.empty() ? job : fmt::format(" of job {}", process.now.job);
  }
  return fmt::format("tfabric on {}: {} process(es){}, {:02}:{:02}:{:02}, over {:g} s\n",
                     processes.empty() ? "this host" : processes.front().now.host, processes.size(), job,
                     local.tm_hour, local.tm_min, local.tm_sec, interval);
}

// To the upper left; the rest of each line, and what is below the text, goes.
std::string in_place(const std::string& text) {
  std::string lines = "\x1b[H";
  for (const char c : text) {
    lines += c == '\n' ? "\x1b[K\n" : std::string(1, c);
  }
  return lines + "\x1b[J";
}

// A look, as the screen shows it.
class Sheet {
 public:
  Sheet(const View& view, const std::vector<Process>& processes, const observe::Found& found)
      : view_(view),
        processes_(processes),
        above_(title(processes, view.interval)),
        below_(in_lines(slow_of(processes)) + what_is_missing(found, view.selection, "stat")) {}

  // `first`: of the rows; becomes one that is there. `page`: becomes how many are shown.
  [[nodiscard]] std::string text(const Fit& fit, std::size_t& first, std::size_t& page) const {
    constexpr const char* kHint = "space: further rows, b: back, q: end\n";
    Fit table = fit;
    if (fit.height != 0) {
      const std::size_t used = lines_on(fit, above_ + below_) + 2;  // with the hint, and the cursor's line
      table.height = fit.height > used ? fit.height - used : 1;
    }
    Shown shown = show(processes_, view_.level, table, first);
    if (first != 0 && first >= shown.rows) {
      first = 0;
      shown = show(processes_, view_.level, table, first);
    }
    page = shown.page;
    return above_ + shown.text + below_ + (page < shown.rows ? kHint : "");
  }

 private:
  const View& view_;
  const std::vector<Process>& processes_;
  std::string above_, below_;
};

}  // namespace

int watch(const View& view, observe::Found before) {
  const bool on_screen = screen().width != 0;
  std::optional<Keys> keys;
  if (on_screen) {
    keys.emplace();
  }
  const auto interval = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(view.interval));
  std::vector<Process> processes;
  observe::Found now;
  std::size_t first = 0, page = 0;
  for (Instant next = monotonic_now() + interval;;) {
    const Duration left = std::max(next - monotonic_now(), Duration(0));
    Key key = Key::none;
    if (keys) {
      key = keys->wait(left);
    } else {
      std::this_thread::sleep_for(left);
    }
    if (key == Key::end) {
      return 0;
    }
    if (key == Key::next) {
      first += page;
    } else if (key == Key::back) {
      first -= std::min(first, page);
    } else if (monotonic_now() >= next) {
      now = look(view.selection);
      processes = pair(before, now);
      before = now;
      next += interval;
    }
    const std::string text = Sheet(view, processes, now).text(screen(), first, page);
    if (!tools::print_out(on_screen ? in_place(text) : text + "\n")) {
      return 0;
    }
  }
}

}  // namespace tfabric::stat
