// "With the engine held", as clang checks it.
//
// What belongs to an engine may only be used by the thread that holds the engine's lock (access.h). There are
// many such functions, and a call of one of them without the lock works nearly always. So they are marked
// with TF_IN_TURN, and clang refuses a call by a function that is not marked itself and has not taken a lock
// with Guard. A mark is not inherited: the function that overrides a marked one has its own. Of a lambda it
// stands behind the parameters: [this](Instant now) TF_IN_TURN { ... }.
//
// There is one mark for all engines, so that it needs no object to name the lock. Hence clang does not see
// whether the lock is that of the right engine, and a function cannot have two Guards at once. Nor does it
// look into constructors and destructors, or at calls that it cannot follow: by std::function, by a function
// pointer, by an algorithm of the standard library, and those of a base class that knows of no turns, as
// those of stripe/ and tcp/stack/ do.
#pragma once

#include "base/thread_safety.h"

namespace tfabric::engine {

// What the holder of an engine's lock has. It exists for the compiler only.
class TF_CAPABILITY("turn") Turn {};
inline constexpr Turn turn;

}  // namespace tfabric::engine

// Of a function: call it with the engine held.
#define TF_IN_TURN TF_REQUIRES(::tfabric::engine::turn)
