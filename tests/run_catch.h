// Catch's own command line.
#pragma once

namespace tfabric::test {

// Runs the tests that the arguments select, and returns the exit status of the program.
int run_catch(int argc, char** argv);

}  // namespace tfabric::test
