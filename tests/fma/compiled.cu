// True if kernel sources of this flavour are compiled with the instruction.
#define FMA_NAME_OF(flavour) has_fma_##flavour
#define FMA_NAME(flavour) FMA_NAME_OF(flavour)

bool FMA_NAME(FMA_FLAVOUR)() {
#ifdef __FMA__
  return true;
#else
  return false;
#endif
}
