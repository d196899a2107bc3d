#include "transport/witness/host.h"

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace tfabric::witness {

template <class Members>
auto* Host::find_in(Members& members, std::uint64_t process) {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const Member& member) { return member.process == process; });
  return found == members.end() ? nullptr : &*found;
}

Host::Member* Host::find(std::uint64_t process) { return find_in(members_, process); }

const Host::Member* Host::find(std::uint64_t process) const { return find_in(members_, process); }

void Host::add(std::uint64_t process, Instant now) {
  if (find(process) == nullptr) {
    members_.push_back({.process = process, .tried = {}, .next_watch = now + kOwnConnection, .asked_at = {}});
  }
}

void Host::remove(std::uint64_t process) {
  set_reach(process, Reach::none, {});
  std::erase_if(members_, [&](const Member& member) { return member.process == process; });
}

bool Host::is_alone(const Member& member) {
  return (member.reach == Reach::none || member.reach == Reach::dialling) && !member.ended;
}

void Host::set_reach(std::uint64_t process, Reach reach, Instant now) {
  Member* member = find(process);
  if (member == nullptr) {
    return;
  }
  const Reach before = std::exchange(member->reach, reach);
  if (reach == Reach::open) {
    release(*member);
    member->ended = false;
    next_dial_ = now;
    dial_pause_ = kFirstPause;
    for (Member& each : members_) {
      each.dialled = false;
      // All others have been asked in vain.
      each.next_watch = each.pause > kFirstPause ? std::min(each.next_watch, now) : each.next_watch;
    }
  } else if (before == Reach::open) {
    for (Member& each : members_) {
      if (each.deputy == process) {
        release(each);
      }
    }
  }
  if (is_alone(*member) && before >= Reach::open) {
    member->next_watch = now + kOwnConnection;
  }
}

void Host::want(std::uint64_t process, Instant now) {
  Member* member = find(process);
  if (member == nullptr) {
    return;
  }
  const bool new_interest = member->wanted_until <= now;
  member->wanted_until = now + Standing::kInterest;
  if (new_interest && member->known && !member->stopped && !member->asked_at) {
    member->asked_at = now;
    member->unsent = true;
  }
}

void Host::report(std::uint64_t deputy, std::uint64_t process, Finding finding, Instant now) {
  Member* member = find(process);
  const Member* sender = find(deputy);
  if (member == nullptr || sender == nullptr || member == sender) {
    return;
  }
  switch (finding) {
    case Finding::ended:
      member->ended = true;
      break;
    case Finding::absent:
      // The deputy cannot know whether the process is only beyond its reach, unless another one has found it.
      member->ended = member->ended || member->verified;
      [[fallthrough]];
    case Finding::unknown:
      pass_over(*member, deputy);
      break;
    case Finding::alive:
    case Finding::stopped:
      if (sender->reach == Reach::open && is_alone(*member) &&
          (member->deputy == 0 || member->deputy == deputy)) {
        found(*member, deputy, finding == Finding::stopped, now);
      }
      break;
  }
}

void Host::found(Member& member, std::uint64_t deputy, bool stopped, Instant now) {
  if (stopped && !member.stopped) {
    const bool inquired = member.known && member.asked_at;
    member.stopped_since = inquired ? *member.asked_at : now - Standing::kPatience;
  }
  member.deputy = deputy;
  member.known = member.verified = true;
  member.stopped = stopped;
  member.asked_at.reset();
  member.answered_at = now;
  member.tried.clear();
  member.pause = kFirstPause;
}

void Host::release(Member& member) {
  member.deputy = 0;
  member.known = member.stopped = false;
  member.asked_at.reset();
}

void Host::pass_over(Member& member, std::uint64_t deputy) {
  if (member.deputy == deputy) {
    release(member);
  }
  if (std::find(member.tried.begin(), member.tried.end(), deputy) == member.tried.end()) {
    member.tried.push_back(deputy);
  }
}

std::optional<Host::Step> Host::next(Instant now) {
  for (Member& member : members_) {
    if (const auto step = is_alone(member) ? next_of(member, now) : std::nullopt) {
      return step;
    }
  }
  return next_dial(now);
}

std::optional<Host::Step> Host::next_of(Member& member, Instant now) {
  if (member.asked_at && now - *member.asked_at >= kAnswer) {
    pass_over(member, member.deputy);
  }
  if (member.deputy == 0) {
    return next_watch(member, now);
  }
  const bool interest = member.known && !member.stopped && member.wanted_until > now;
  if (interest && !member.asked_at && now - member.answered_at >= Standing::kPause) {
    member.asked_at = now;
    member.unsent = true;
  }
  if (!member.asked_at || !std::exchange(member.unsent, false)) {
    return std::nullopt;
  }
  return Step{Step::Kind::inquire, member.process, member.deputy};
}

std::optional<Host::Step> Host::next_watch(Member& member, Instant now) {
  if (now < member.next_watch) {
    return std::nullopt;
  }
  const Member* best = nullptr;
  for (const Member& each : members_) {
    const bool tried =
        std::find(member.tried.begin(), member.tried.end(), each.process) != member.tried.end();
    if (each.reach == Reach::open && !tried && (best == nullptr || affinity(each) > affinity(*best))) {
      best = &each;
    }
  }
  if (best != nullptr) {
    member.deputy = best->process;
    member.asked_at = now;
    member.unsent = false;
    return Step{Step::Kind::watch, member.process, best->process};
  }
  if (!member.tried.empty()) {
    member.tried.clear();
    member.next_watch = now + member.pause;
    member.pause = std::min(2 * member.pause, kLastPause);
  }
  return std::nullopt;
}

std::optional<Host::Step> Host::next_dial(Instant now) {
  bool in_need = false;
  Member* best = nullptr;
  for (Member& member : members_) {
    if (member.reach == Reach::open || member.reach == Reach::dialling) {
      return std::nullopt;
    }
    if (is_alone(member)) {
      in_need = in_need || now >= member.next_watch;
      if (!member.dialled && (best == nullptr || affinity(member) > affinity(*best))) {
        best = &member;
      }
    }
  }
  if (!in_need || now < next_dial_) {
    return std::nullopt;
  }
  if (best != nullptr) {
    best->dialled = true;
    return Step{Step::Kind::dial, best->process};
  }
  for (Member& member : members_) {
    member.dialled = false;
  }
  next_dial_ = now + dial_pause_;
  dial_pause_ = std::min(2 * dial_pause_, kLastPause);
  return std::nullopt;
}

// Both ends of a pair have the same number for it. So two hosts whose processes know each other choose the
// same pairs, as far as that is possible, and the choices are spread over all processes.
std::uint64_t Host::affinity(const Member& member) const {
  return SeededRandom(self_ ^ member.process).next();
}

View Host::view(std::uint64_t process) const {
  const Member* member = find(process);
  if (member != nullptr && member->ended) {
    return View::ended;
  }
  if (member == nullptr || !member->known || !is_alone(*member)) {
    return View::unknown;
  }
  return member->stopped ? View::stopped : member->asked_at ? View::asked : View::alive;
}

Instant Host::stopped_since(std::uint64_t process) const {
  const Member* member = find(process);
  return member == nullptr ? Instant{} : member->stopped_since;
}

std::uint64_t Host::deputy_of(std::uint64_t process) const {
  const Member* member = find(process);
  return member == nullptr ? 0 : member->deputy;
}

bool Host::is_deputy(std::uint64_t process) const {
  return std::any_of(members_.begin(), members_.end(),
                     [&](const Member& member) { return member.deputy == process && is_alone(member); });
}

}  // namespace tfabric::witness
