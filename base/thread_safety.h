// What clang checks about locks while it compiles (-Wthread-safety). Other compilers see nothing of it.
#pragma once

#if defined(__clang__)
#define TF_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define TF_THREAD_SAFETY(attribute)
#endif

// Of a class: its objects are something that a thread can hold, or hold it from their construction to their
// destruction.
#define TF_CAPABILITY(name) TF_THREAD_SAFETY(capability(name))
#define TF_SCOPED_CAPABILITY TF_THREAD_SAFETY(scoped_lockable)

// Of a function: the caller must hold it.
#define TF_REQUIRES(...) TF_THREAD_SAFETY(requires_capability(__VA_ARGS__))
// The function takes it, gives it up, or takes it if it returns the first argument.
#define TF_ACQUIRE(...) TF_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define TF_RELEASE(...) TF_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define TF_TRY_ACQUIRE(...) TF_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))
// Nothing is checked in the function. A comment says why.
#define TF_NO_THREAD_SAFETY_ANALYSIS TF_THREAD_SAFETY(no_thread_safety_analysis)
