#include "tests/run_catch.h"

int main(int argc, char** argv) { return tfabric::test::run_catch(argc, argv); }
