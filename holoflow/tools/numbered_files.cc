// SPDX-License-Identifier: LGPL-2.1-or-later
// frame-%04d.png: a file for each frame, or for some.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <vector>

#include "holoflow/tools/frame_files.hh"

namespace holoflow::tools {

namespace {

namespace fs = std::filesystem;

/// `%d`, `%4d`, `%04d` in a path; begin is npos where there is none.
struct Place {
  size_t begin = std::string::npos;
  size_t length = 0;
  size_t digits = 1;
};

Place find_place(const std::string &path) {
  for (size_t begin = path.find('%'); begin != std::string::npos;
       begin = path.find('%', begin + 1)) {
    size_t at = begin + 1;
    size_t digits = 0;
    while (at < path.size() && path[at] >= '0' && path[at] <= '9' && at < begin + 4)
      digits = 10 * digits + static_cast<size_t>(path[at++] - '0');
    if (at < path.size() && path[at] == 'd' && digits < 20)
      return {begin, at + 1 - begin, std::max<size_t>(digits, 1)};
  }
  return {};
}

std::string numbered(const std::string &pattern, size_t number) {
  const Place place = find_place(pattern);
  std::string digits = std::to_string(number);
  if (digits.size() < place.digits)
    digits.insert(0, place.digits - digits.size(), '0');
  std::string path = pattern;
  return path.replace(place.begin, place.length, digits);
}

/// A place in a path, cut at the file or folder whose name holds it.
struct Series {
  explicit Series(const std::string &pattern) {
    const Place place = find_place(pattern);
    const size_t slash = pattern.rfind('/', place.begin);
    const size_t name = slash == std::string::npos ? 0 : slash + 1;
    folder = pattern.substr(0, name);
    before = pattern.substr(name, place.begin - name);
    behind = pattern.substr(place.begin + place.length);
    const size_t end = behind.find('/');
    inside = end == std::string::npos ? "" : behind.substr(end);
    behind.resize(behind.size() - inside.size());
  }
  std::string folder;  ///< with its "/", or ""
  std::string before, behind;  ///< the number, in the name
  std::string inside;  ///< where the name is a folder's, the path in it with its "/"
};

/// Numbers from `first` on that have a file, in order.
std::vector<size_t> find_numbers(const std::string &pattern, size_t first) {
  const Series series(pattern);
  std::vector<size_t> numbers;
  std::error_code error;
  const fs::path folder = series.folder.empty() ? "." : series.folder;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const size_t around = series.before.size() + series.behind.size();
    constexpr size_t most_digits = 18;  // fit the number
    if (name.size() <= around || name.size() > around + most_digits)
      continue;
    const std::string digits = name.substr(series.before.size(), name.size() - around);
    if (digits.find_first_not_of("0123456789") != std::string::npos)
      continue;
    const size_t number = std::stoull(digits);
    const std::string path = series.folder + name + series.inside;
    std::error_code missing;
    if (number >= first && numbered(pattern, number) == path && fs::exists(path, missing))
      numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// `2 files with higher numbers, "s-04.png" to "s-05.png"`.
std::string describe_files(const std::string &pattern, const std::vector<size_t> &numbers) {
  std::string text = std::to_string(numbers.size()) +
      (numbers.size() == 1 ? " file with a higher number, \"" : " files with higher numbers, \"") +
      numbered(pattern, numbers.front()) + "\"";
  if (numbers.size() > 1)
    text += " to \"" + numbered(pattern, numbers.back()) + "\"";
  return text;
}

/// From the lowest number there is to the first that has no file.
class NumberedReader final : public FrameReader {
public:
  using Open = std::function<std::unique_ptr<FrameReader>(const std::string &)>;

  NumberedReader(std::string pattern, Open open)
      : pattern_(std::move(pattern)), open_(std::move(open)) {
    const auto numbers = find_numbers(pattern_, 0);
    if (numbers.empty())
      throw FileError(
          pattern_, "expected files like \"" + numbered(pattern_, 0) + "\", there are none");
    next_ = numbers.front();
    open_next();
    if (reader_ == nullptr)
      throw FileError(numbered(pattern_, next_), "is gone");
    frame_ = reader_->frame();
  }

  bool read(std::byte *to) override {
    while (reader_ != nullptr) {
      if (reader_->read(to))
        return true;
      keep_sentences();
      ++next_;
      open_next();
    }
    return false;
  }

  [[nodiscard]] std::string left_unread() const override {
    if (!left_in_a_file_.empty())
      return left_in_a_file_;
    auto numbers = find_numbers(pattern_, next_);
    size_t missing = next_;
    auto rest = numbers.begin();
    while (rest != numbers.end() && *rest == missing)
      ++rest, ++missing;
    numbers.erase(numbers.begin(), rest);
    if (numbers.empty())
      return "";
    return "\"" + pattern_ + "\": " + describe_files(pattern_, numbers) +
        ", not read: there is no \"" + numbered(pattern_, missing) + "\"";
  }
  [[nodiscard]] std::string remark() const override { return remark_; }

private:
  void open_next() {
    reader_.reset();
    const std::string path = numbered(pattern_, next_);
    std::error_code error;
    if (!fs::exists(path, error))
      return;
    reader_ = open_(path);
    keep_sentences();
    const core::TDesc &tensor = reader_->frame().tensor;
    if (frame_.bytes != 0 && tensor != frame_.tensor)
      throw FileError(
          path,
          "expected " + core::to_string(frame_.tensor) + " as in the files before it, got " +
              core::to_string(tensor));
  }

  /// The first of each kind is enough.
  void keep_sentences() {
    if (left_in_a_file_.empty())
      left_in_a_file_ = reader_->left_unread();
    if (remark_.empty())
      remark_ = reader_->remark();
  }

  std::string pattern_;
  Open open_;
  size_t next_ = 0;
  std::unique_ptr<FrameReader> reader_;  // of file next_; null where there is none
  std::string left_in_a_file_, remark_;
};

/// Each file is whole; after a fault those before it stay.
class NumberedWriter final : public FrameWriter {
public:
  using Create = std::function<std::unique_ptr<FrameWriter>(const std::string &)>;

  NumberedWriter(std::string pattern, Create create)
      : pattern_(std::move(pattern)), create_(std::move(create)) {}

  void write(const std::byte *data, size_t first, size_t last) override {
    for (size_t frame = first; frame < last; ++frame, ++next_) {
      const auto writer = create_(numbered(pattern_, next_));
      writer->write(data, frame, frame + 1);
      writer->finish();
    }
  }
  void finish() override {}

  [[nodiscard]] std::string left_behind() const override {
    if (next_ == 0)
      return "";
    return "\"" + pattern_ + "\": the run did not end well; the files up to \"" +
        numbered(pattern_, next_ - 1) + "\" are whole and stay";
  }

  [[nodiscard]] std::string left_from_before() const override {
    const auto numbers = find_numbers(pattern_, next_);
    if (numbers.empty())
      return "";
    return "\"" + pattern_ + "\": " + describe_files(pattern_, numbers) +
        ", not of this run but of an older one; delete what does not belong to these frames";
  }

private:
  std::string pattern_;
  Create create_;
  size_t next_ = 0;
};

}  // namespace

bool is_numbered(const std::string &path) {
  return find_place(path).begin != std::string::npos;
}

bool share_a_file(const std::string &left, const std::string &right) {
  // Not the whole path: /dev/stdout leads to a pipe that has none.
  const auto resolved = [](const std::string &path) {
    if (path == standard_stream)
      return path;
    std::error_code error;
    const fs::path whole = fs::absolute(path).lexically_normal();
    return (fs::weakly_canonical(whole.parent_path(), error) / whole.filename()).string();
  };
  const std::string first = resolved(left), second = resolved(right);
  if (first == second)
    return true;
  std::error_code error;
  if (fs::is_regular_file(first, error) && fs::equivalent(first, second, error))
    return true;
  const auto holds = [](const std::string &pattern, const std::string &path) {
    if (!is_numbered(pattern))
      return false;
    const auto numbers = find_numbers(pattern, 0);
    return std::any_of(numbers.begin(), numbers.end(), [&](size_t number) {
      std::error_code gone;
      return fs::equivalent(numbered(pattern, number), path, gone);
    });
  };
  return holds(first, second) || holds(second, first);
}

std::unique_ptr<FrameReader> open_numbered(
    const std::string &pattern,
    std::function<std::unique_ptr<FrameReader>(const std::string &)> open) {
  return std::make_unique<NumberedReader>(pattern, std::move(open));
}

std::unique_ptr<FrameWriter> create_numbered(
    const std::string &pattern,
    std::function<std::unique_ptr<FrameWriter>(const std::string &)> create) {
  return std::make_unique<NumberedWriter>(pattern, std::move(create));
}

}  // namespace holoflow::tools
