// Marks what libfakecuda.so shows to others. hook.cc looks the entry points up by these very names.
#pragma once

#define FAKECUDA_API extern "C" __attribute__((visibility("default")))
