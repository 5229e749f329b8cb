// Stands in for Thrust's header of this name: function objects by which algorithms combine values.
#pragma once

#include <functional>

namespace thrust {

// `name<T>` and `name<>`, as in the standard library.
template <class T = void>
struct plus : std::plus<T> {};
template <class T = void>
struct minus : std::minus<T> {};
template <class T = void>
struct multiplies : std::multiplies<T> {};
template <class T = void>
struct divides : std::divides<T> {};
template <class T = void>
struct modulus : std::modulus<T> {};
template <class T = void>
struct negate : std::negate<T> {};
template <class T = void>
struct equal_to : std::equal_to<T> {};
template <class T = void>
struct not_equal_to : std::not_equal_to<T> {};
template <class T = void>
struct greater : std::greater<T> {};
template <class T = void>
struct less : std::less<T> {};
template <class T = void>
struct greater_equal : std::greater_equal<T> {};
template <class T = void>
struct less_equal : std::less_equal<T> {};
template <class T = void>
struct logical_and : std::logical_and<T> {};
template <class T = void>
struct logical_or : std::logical_or<T> {};
template <class T = void>
struct logical_not : std::logical_not<T> {};
template <class T = void>
struct bit_and : std::bit_and<T> {};
template <class T = void>
struct bit_or : std::bit_or<T> {};
template <class T = void>
struct bit_xor : std::bit_xor<T> {};
template <class T = void>
struct maximum {
  template <class A, class B>
  constexpr auto operator()(const A& a, const B& b) const {
    return a < b ? b : a;
  }
};
template <class T = void>
struct minimum {
  template <class A, class B>
  constexpr auto operator()(const A& a, const B& b) const {
    return b < a ? b : a;
  }
};
template <class T = void>
struct identity {
  template <class A>
  constexpr A operator()(const A& a) const {
    return a;
  }
};
template <class T = void>
struct square {
  template <class A>
  constexpr auto operator()(const A& a) const {
    return a * a;
  }
};

template <class Argument, class Result>
struct unary_function {
  using argument_type = Argument;
  using result_type = Result;
};
template <class First, class Second, class Result>
struct binary_function {
  using first_argument_type = First;
  using second_argument_type = Second;
  using result_type = Result;
};
template <class Predicate>
auto not1(Predicate p) {
  return [p](const auto& x) { return !p(x); };
}

}  // namespace thrust
