// Stands in for the header of this name that NVIDIA's samples share: arguments of the form -name or --name=value.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif

namespace simt::import::samples {

// Returns the text after the name and "=" in the last argument of that name, or nullptr.
inline const char* value_of(int argc, const char** argv, const char* name) {
  const char* found = nullptr;
  for (int i = 1; i < argc; ++i) {
    const char* word = argv[i];
    while (*word == '-') ++word;
    const size_t length = std::strlen(name);
    if (word == argv[i] || strncasecmp(word, name, length) != 0) continue;
    if (word[length] == '\0') found = word + length;
    if (word[length] == '=') found = word + length + 1;
  }
  return found;
}

}  // namespace simt::import::samples

inline bool checkCmdLineFlag(int argc, const char** argv, const char* name) {
  return simt::import::samples::value_of(argc, argv, name) != nullptr;
}
inline int getCmdLineArgumentInt(int argc, const char** argv, const char* name) {
  const char* value = simt::import::samples::value_of(argc, argv, name);
  return value == nullptr ? 0 : std::atoi(value);
}
inline float getCmdLineArgumentFloat(int argc, const char** argv, const char* name) {
  const char* value = simt::import::samples::value_of(argc, argv, name);
  return value == nullptr ? 0.0f : static_cast<float>(std::atof(value));
}
inline bool getCmdLineArgumentString(int argc, const char** argv, const char* name, char** text) {
  const char* value = simt::import::samples::value_of(argc, argv, name);
  *text = const_cast<char*>(value);
  return value != nullptr;
}
template <class T>
bool getCmdLineArgumentValue(int argc, const char** argv, const char* name, T* value) {
  const char* text = simt::import::samples::value_of(argc, argv, name);
  if (text == nullptr) return false;
  *value = static_cast<T>(std::strtod(text, nullptr));
  return true;
}
// Returns the path of a data file: here, in "data", or beside the program; nullptr if there is none.
inline char* sdkFindFilePath(const char* name, const char* program) {
  std::string folder = program == nullptr ? "" : program;
  folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/') + 1);
  for (const std::string& place : {std::string(), std::string("data/"), folder, folder + "data/"})
    if (std::FILE* file = std::fopen((place + name).c_str(), "rb")) {
      std::fclose(file);
      return strdup((place + name).c_str());
    }
  return nullptr;
}
