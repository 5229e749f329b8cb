// A module needs a source of its own; what it exports comes from the kernel library.
extern "C" int run_in_module(bool barrier, void* stream);
extern "C" __attribute__((visibility("default"))) const void* const simt_module_anchor =
    reinterpret_cast<const void*>(&run_in_module);
