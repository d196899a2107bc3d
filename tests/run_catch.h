// Catch's own command line.
#pragma once

namespace tfabric::test {

// Runs the program's tests as its arguments say; the program's exit status.
int run_catch(int argc, char** argv);

}  // namespace tfabric::test
