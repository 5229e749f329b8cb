// The program that reads a Python file: inline_source.py.
#pragma once

namespace warpcheck::cli {

const char* inline_source_program();

}  // namespace warpcheck::cli
