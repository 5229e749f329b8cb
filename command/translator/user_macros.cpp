#include "command/translator/user_macros.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <filesystem>
#include <set>
#include <string_view>

namespace warpcheck::cli {
namespace {

namespace fs = std::filesystem;
using names = std::set<std::string, std::less<>>;

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Returns the identifier at the beginning, or "".
std::string_view first_name(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && is_name_character(text[end])) ++end;
  return end > 0 && std::isdigit(static_cast<unsigned char>(text[0])) ? "" : text.substr(0, end);
}

// Words of our headers that a user may define as macros. Names that begin with "_" or "SIMT_" belong to us or the
// compiler, and names that begin with "CUDA_API_" choose an interface: a definition of one of them is meant for the
// headers.
names own_words(const fs::path& folder) {
  names words;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().extension() == ".cpp") continue;
    const std::string text = read_text(entry.path().string());
    for (size_t i = 0; i < text.size();) {
      const std::string_view word = first_name(std::string_view(text).substr(i));
      if (!word.empty() && word[0] != '_' && !word.starts_with("SIMT_") && !word.starts_with("CUDA_API_"))
        words.emplace(word);
      i += std::max<size_t>(word.size(), 1);
      if (word.empty())
        while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i - 1])) && is_name_character(text[i]))
          ++i;
    }
  }
  return words;
}

// The definitions in a source and its includes, and the headers of ours that it includes, in order.
class source_scan {
 public:
  source_scan(const std::vector<std::string>& folders, const std::vector<std::string>& own)
      : folders_(folders), own_(own) {}

  void run(const fs::path& file) {
    waiting_.push_back(file);
    for (; !waiting_.empty(); waiting_.pop_front()) read(waiting_.front());
  }
  const names& defined() const { return defined_; }
  const std::vector<std::string>& headers() const { return headers_; }

 private:
  void read(const fs::path& file) {
    std::error_code error;
    if (!seen_.insert(fs::weakly_canonical(file, error).string()).second) return;
    const std::string text = read_text(file.string());
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      directive(std::string_view(text).substr(begin, end - begin), file.parent_path());
      begin = end + 1;
    }
  }

  static void skip_blanks(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  }

  void directive(std::string_view line, const fs::path& here) {
    skip_blanks(line);
    if (line.empty() || line[0] != '#') return;
    line.remove_prefix(1);
    skip_blanks(line);
    const std::string_view kind = first_name(line);
    line.remove_prefix(kind.size());
    skip_blanks(line);
    if (kind == "define") defined_.emplace(first_name(line));
    if (kind != "include" || line.empty() || (line[0] != '"' && line[0] != '<')) return;
    const size_t close = line.find(line[0] == '"' ? '"' : '>', 1);
    if (close != std::string_view::npos) include(std::string(line.substr(1, close - 1)), line[0] == '"', here);
  }

  void include(const std::string& name, bool quoted, const fs::path& here) {
    std::error_code error;
    const auto found = [&](const fs::path& at) { return fs::is_regular_file(at, error); };
    if (quoted && found(here / name)) return waiting_.push_back(here / name);
    // By its name: in a file included by its path, #include_next begins anew.
    if (std::ranges::any_of(own_, [&](const fs::path& folder) { return found(folder / name); })) {
      if (std::ranges::find(headers_, name) == headers_.end()) headers_.push_back(name);
      return;
    }
    for (const std::string& folder : folders_)
      if (found(fs::path(folder) / name)) return waiting_.push_back(fs::path(folder) / name);
  }

  const std::vector<std::string>& folders_;
  const std::vector<std::string>& own_;
  std::deque<fs::path> waiting_;
  names seen_, defined_;
  std::vector<std::string> headers_;
};

// "NAME(x)=x" as a directive; without a value it is 1.
std::string directive_of(const std::string& define) {
  const size_t equal = define.find('=');
  return equal == std::string::npos ? fmt::format("#define {} 1\n", define)
                                    : fmt::format("#define {} {}\n", define.substr(0, equal), define.substr(equal + 1));
}

}  // namespace

macro_order order_macros(const std::string& file, const std::vector<std::string>& defines,
                         const std::vector<std::string>& includes, const toolchain& tools) {
  const names own = own_words(fs::path(tools.root()) / "simt");
  macro_order order;
  for (const std::string& d : defines) {
    if (own.contains(first_name(d)))
      order.last += directive_of(d);
    else
      order.first.push_back(d);
  }
  source_scan scan(includes, tools.import_folders());
  scan.run(file);
  const bool rewrites =
      std::ranges::any_of(scan.defined(), [&](const std::string& name) { return own.contains(name); });
  if (rewrites || !order.last.empty()) order.headers = scan.headers();
  return order;
}

}  // namespace warpcheck::cli
