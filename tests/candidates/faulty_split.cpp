// best_split for the CPU by the exact model, publishing nothing; WARPCHECK_FLAW names the one flaw, or only-lightgbm,
// which offers less. Reductions of records are not offered.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "abi/candidate_table.hpp"
#include "docs/bring_your_own/call.hpp"
#include "reference/best_split/best_split.hpp"

namespace {

namespace reference = warpcheck::reference;

constexpr bool flaw(std::string_view name) { return name == WARPCHECK_FLAW; }

template <class T>
T* row_of(const DLTensor& t, int64_t row) {
  return static_cast<T*>(t.data) + row * (t.ndim > 1 ? t.strides[0] : 1);
}

reference::split_settings settings_of(const warpcheck_call* call) {
  const auto of = [&](const char* name) { return candidate::scalar(call, name); };
  reference::split_settings s;
  s.lambda_l1 = of("lambda_l1");
  s.lambda_l2 = of("lambda_l2");
  s.path_smooth = of("path_smooth");
  s.min_hessian = of("min_hessian");
  s.min_gain = of("min_gain");
  s.min_data = static_cast<int64_t>(of("min_data"));
  s.min_group = static_cast<int64_t>(of("min_group"));
  s.extra_trees = of("extra_trees") != 0;
  s.cat_smooth = of("cat_smooth");
  s.cat_l2 = of("cat_l2");
  s.max_cat = static_cast<int64_t>(of("max_cat"));
  s.max_onehot = static_cast<int64_t>(of("max_onehot"));
  s.lightgbm_cuda = of("lightgbm_cuda") != 0;
  return s;
}

void write_record(const reference::split_result& r, double* value, int64_t* field, uint32_t* cat, int64_t list) {
  const double values[] = {r.gain,    r.left.g,  r.left.h,     r.left.gain,  r.left.value,
                           r.right.g, r.right.h, r.right.gain, r.right.value};
  const auto num_cat = static_cast<int64_t>(r.categories.size());
  const int64_t fields[] = {(r.is_valid ? 1 : 0) + (r.default_left ? 0x100 : 0),
                            r.feature,
                            static_cast<int64_t>(r.threshold),
                            num_cat,
                            r.left.n,
                            r.right.n};
  std::copy(std::begin(values), std::end(values), value);
  std::copy(std::begin(fields), std::end(fields), field);
  for (int64_t k = 0; k < list; ++k)
    cat[k] = k < num_cat ? r.categories[static_cast<size_t>(k)] : reference::k_no_split_threshold;
}

warpcheck_status best_split(warpcheck_call* call) {
  return candidate::answer(call, [&] {
    candidate::offer(call->num_inputs == 5, "this candidate reduces no records");
    const DLTensor &hist = *call->inputs[0], &count = *call->inputs[1], &feature = *call->inputs[2],
                   &used = *call->inputs[3], &leaf = *call->inputs[4];
    reference::split_problem p;
    std::vector<double> slots;
    for (int64_t i = 0; i < hist.shape[0]; ++i)
      slots.insert(slots.end(), row_of<double>(hist, i), row_of<double>(hist, i) + 2);
    p.slots = slots;
    if (count.shape[0] > 0) p.counts = {row_of<int64_t>(count, 0), static_cast<size_t>(count.shape[0])};
    p.settings = settings_of(call);
    candidate::offer(p.settings.lightgbm_cuda || !flaw("only-lightgbm"), "this candidate has LightGBM's conventions");
    for (int64_t f = 0; f < feature.shape[0]; ++f) {
      const int64_t* const v = row_of<int64_t>(feature, f);
      p.features.push_back({v[0], v[1], v[2], v[3], v[4], static_cast<reference::split_missing>(v[5]), v[6] != 0});
    }
    for (int64_t l = 0; l < leaf.shape[0]; ++l) {
      const double* const v = row_of<double>(leaf, l);
      p.leaf = {static_cast<int64_t>(v[0]), v[1], v[2], static_cast<int64_t>(v[3]), v[4], v[5],
                static_cast<uint64_t>(v[6])};
      p.used.clear();
      for (int64_t f = 0; f < feature.shape[0] && used.shape[0] > 0; ++f)
        p.used.push_back(row_of<uint8_t>(used, l)[f] != 0);
      reference::split_result r = reference::best_split(p);
      // A second kernel for what no warp holds, with shorter numbers.
      if (flaw("wide-features-in-f32") &&
          std::ranges::any_of(p.features, [](const auto& f) { return f.num_bin > 256; }))
        r.gain = static_cast<float>(r.gain);
      write_record(r, row_of<double>(*call->outputs[0], l), row_of<int64_t>(*call->outputs[1], l),
                   row_of<uint32_t>(*call->outputs[2], l), call->outputs[2]->shape[1]);
    }
  });
}

}  // namespace

extern "C" const warpcheck_candidate* warpcheck_candidate_get(uint32_t abi_version) {
  if (abi_version != WARPCHECK_CANDIDATE_ABI) return nullptr;
  static constexpr warpcheck_operator op =
      warpcheck::operator_of_rows("best_split", WARPCHECK_DEVICE_CPU, WARPCHECK_F64, best_split);
  static const warpcheck_operator* const operators[] = {&op};
  static const warpcheck_candidate table = {
      WARPCHECK_CANDIDATE_ABI, sizeof(warpcheck_candidate), "faulty", "plain C++", operators, 1, nullptr};
  return &table;
}
