// CUDA graphs, captured or built node by node. A launch runs the work of a graph in an order that its dependencies
// allow. Nodes that may run at the same time run one after the other.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "simt/import/launch_functions.hpp"
#include "simt/import/textures.hpp"

struct simt_graph;
struct simt_graph_node {
  simt_graph* home;
  const char* call;  // the API call that made the node, and its line
  ::simt::import::site where;
  std::function<void()> work;
  std::vector<simt_graph_node*> after;
};
struct simt_graph {
  std::vector<std::unique_ptr<simt_graph_node>> nodes;
};
// The graph as instantiated, in an order in which it can run.
struct simt_graph_exec {
  std::vector<simt_graph_node*> nodes;
  std::vector<::simt::import::graph_step> steps;
};
using cudaGraph_t = simt_graph*;
using cudaGraphNode_t = simt_graph_node*;
using cudaGraphExec_t = simt_graph_exec*;

enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal,
  cudaStreamCaptureModeThreadLocal,
  cudaStreamCaptureModeRelaxed
};
enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone,
  cudaStreamCaptureStatusActive,
  cudaStreamCaptureStatusInvalidated
};

inline cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  *graph = new simt_graph;
  return cudaSuccess;
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
inline cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode, SIMT_SITE) {
  if (::simt::import::begin_capture(::simt::import::on(stream)) == nullptr)
    return ::simt::import::misuse("cudaStreamBeginCapture", site, "the stream is captured already");
  return cudaSuccess;
}

namespace simt::import {

// The graph to which a stream's capture adds nodes, and what they all come after.
struct capture_target {
  cudaGraph_t graph;
  std::vector<cudaGraphNode_t> after;
};
inline std::map<cudaStream_t, capture_target>& capture_targets() {
  static auto& all = *new std::map<cudaStream_t, capture_target>;
  return all;
}

}  // namespace simt::import

inline cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* after,
                                                 const void*, size_t count, cudaStreamCaptureMode mode, SIMT_SITE) {
  const cudaError_t e = cudaStreamBeginCapture(stream, mode, site);
  if (e == cudaSuccess) ::simt::import::capture_targets()[stream] = {graph, {after, after + count}};
  return e;
}
// `graph` may be null if the capture adds to one.
inline cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph, SIMT_SITE) {
  auto captured = ::simt::import::end_capture(::simt::import::on(stream));
  if (!captured) return ::simt::import::misuse("cudaStreamEndCapture", site, "no capture of the stream was begun");
  auto target = ::simt::import::capture_targets().extract(stream);
  const cudaGraph_t to = target ? target.mapped().graph : new simt_graph;
  if (graph != nullptr) *graph = to;
  auto& nodes = to->nodes;
  const size_t first = nodes.size();
  for (auto& n : captured->nodes) {
    nodes.push_back(std::make_unique<simt_graph_node>());
    *nodes.back() = {to, n.call.name, n.call.where, std::move(n.work), {}};
    if (n.after.empty() && target) nodes.back()->after = target.mapped().after;
    for (const size_t before : n.after) nodes.back()->after.push_back(nodes[first + before].get());
  }
  return cudaSuccess;
}
inline cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = ::simt::import::is_captured(::simt::import::on(stream)) ? cudaStreamCaptureStatusActive
                                                                    : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

namespace simt::import {

// The origin of a node: the API function of this name.
struct node_call {
  const char* name;
  site where;
};
inline cudaError_t add_node(const node_call& call, cudaGraphNode_t* node, cudaGraph_t graph,
                            const cudaGraphNode_t* after, size_t count, std::function<void()> work) {
  graph->nodes.push_back(std::make_unique<simt_graph_node>());
  *node = graph->nodes.back().get();
  **node = {graph, call.name, call.where, std::move(work), {}};
  if (count > 0) (*node)->after.assign(after, after + count);
  return cudaSuccess;
}

// Returns the index of a node; if it is missing, the number of nodes.
inline size_t place_of(const std::vector<simt_graph_node*>& nodes, const simt_graph_node* node) {
  size_t i = 0;
  while (i < nodes.size() && nodes[i] != node) ++i;
  return i;
}

// Sorts the nodes so that each follows its dependencies; returns false if there is a cycle.
inline bool order_of(const simt_graph& graph, std::vector<simt_graph_node*>& order) {
  const auto is_ready = [&](const simt_graph_node& n) {
    for (const simt_graph_node* before : n.after)
      if (place_of(order, before) == order.size()) return false;
    return place_of(order, &n) == order.size();
  };
  while (order.size() < graph.nodes.size()) {
    const size_t before = order.size();
    for (const auto& n : graph.nodes)
      if (is_ready(*n)) order.push_back(n.get());
    if (order.size() == before) return false;
  }
  return true;
}

}  // namespace simt::import

struct cudaKernelNodeParams {
  void* func;
  dim3 gridDim, blockDim;
  unsigned sharedMemBytes;
  void** kernelParams;
  void** extra;
};
struct cudaMemsetParams {
  void* dst;
  size_t pitch;
  unsigned value, elementSize;
  size_t width, height;
};
struct cudaHostNodeParams {
  cudaHostFn_t fn;
  void* userData;
};

namespace simt::import {

// Returns the work of a node, with the present values of its parameters.
inline std::function<void()> kernel_work(const cudaKernelNodeParams& p, const site& where) {
  const auto found = the_program().kernels.find(p.func);
  if (found == the_program().kernels.end()) return nullptr;
  return found->second({p.gridDim, p.blockDim, p.sharedMemBytes}, p.kernelParams, where);
}
inline std::function<void()> volume_work(const cudaMemcpy3DParms& p, const site& where) {
  return [=] { copy_volume("cudaGraphAddMemcpyNode", where, p, true); };
}
inline std::function<void()> copy_work(const site& where, void* to, const void* from, size_t bytes,
                                       cudaMemcpyKind kind) {
  return [=] { copy("cudaGraphAddMemcpyNode1D", where, to, from, bytes, kind, true); };
}
inline std::function<void()> memset_work(const cudaMemsetParams& p, const site& where) {
  return [p, where] {
    for (size_t y = 0; y < (p.height > 0 ? p.height : 1); ++y) {
      char* const row = static_cast<char*>(p.dst) + y * p.pitch;
      const size_t bytes = p.width * p.elementSize;
      if (p.elementSize == 1 || p.value == 0) {
        set("cudaGraphAddMemsetNode", where, row, static_cast<int>(p.value), bytes);
        continue;
      }
      std::vector<char> pattern(bytes);
      for (size_t i = 0; i < bytes; i += p.elementSize) __builtin_memcpy(pattern.data() + i, &p.value, p.elementSize);
      copy("cudaGraphAddMemsetNode", where, row, pattern.data(), bytes, cudaMemcpyHostToDevice);
    }
  };
}

}  // namespace simt::import

inline cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                          size_t count, const cudaKernelNodeParams* p, SIMT_SITE) {
  auto work = ::simt::import::kernel_work(*p, site);
  if (!work)
    return ::simt::import::misuse("cudaGraphAddKernelNode", site,
                                  "func is not a kernel whose name is written as (void*)name",
                                  cudaErrorInvalidDeviceFunction);
  return ::simt::import::add_node({"cudaGraphAddKernelNode", site}, node, graph, after, count, std::move(work));
}
inline cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                          size_t count, const cudaMemcpy3DParms* p, SIMT_SITE) {
  return ::simt::import::add_node({"cudaGraphAddMemcpyNode", site}, node, graph, after, count,
                                  ::simt::import::volume_work(*p, site));
}
inline cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                            size_t count, void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                            SIMT_SITE) {
  return ::simt::import::add_node({"cudaGraphAddMemcpyNode1D", site}, node, graph, after, count,
                                  ::simt::import::copy_work(site, to, from, bytes, kind));
}
inline cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                          size_t count, const cudaMemsetParams* p, SIMT_SITE) {
  return ::simt::import::add_node({"cudaGraphAddMemsetNode", site}, node, graph, after, count,
                                  ::simt::import::memset_work(*p, site));
}
inline cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                        size_t count, const cudaHostNodeParams* p, SIMT_SITE) {
  ::simt::import::host_chooses(::simt::import::k_host_function);
  return ::simt::import::add_node({"cudaGraphAddHostNode", site}, node, graph, after, count,
                                  [p = *p] { p.fn(p.userData); });
}
inline cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                         size_t count, SIMT_SITE) {
  return ::simt::import::add_node({"cudaGraphAddEmptyNode", site}, node, graph, after, count, [] {});
}

// Memory of a graph keeps its address, and is unwritten when its node has run.
enum cudaMemAllocationType { cudaMemAllocationTypeInvalid, cudaMemAllocationTypePinned, cudaMemAllocationTypeManaged };
enum cudaMemAllocationHandleType {
  cudaMemHandleTypeNone,
  cudaMemHandleTypePosixFileDescriptor,
  cudaMemHandleTypeWin32,
  cudaMemHandleTypeWin32Kmt = 4,
  cudaMemHandleTypeFabric = 8
};
struct cudaMemPoolProps {
  cudaMemAllocationType allocType;
  cudaMemAllocationHandleType handleTypes;
  cudaMemLocation location;
  void* win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
};
enum cudaMemAccessFlags { cudaMemAccessFlagsProtNone, cudaMemAccessFlagsProtRead, cudaMemAccessFlagsProtReadWrite = 3 };
struct cudaMemAccessDesc {
  cudaMemLocation location;
  cudaMemAccessFlags flags;
};
inline cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  return cudaDeviceGetDefaultMemPool(pool, 0);
}
// The device may use the pool from the start.
inline cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc* list, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (list[i].location.id != 0) return ::simt::import::returned(cudaErrorInvalidDevice);
  return cudaSuccess;
}
struct cudaMemAllocNodeParams {
  cudaMemPoolProps poolProps;
  const cudaMemAccessDesc* accessDescs;
  size_t accessDescCount, bytesize;
  void* dptr;
};
#define cudaGraphInstantiateFlagAutoFreeOnLaunch 1
#define cudaGraphInstantiateFlagUpload 2
#define cudaGraphInstantiateFlagUseNodePriority 8
inline cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                            size_t count, cudaMemAllocNodeParams* p, SIMT_SITE) {
  if (const cudaError_t e = cudaMalloc(&p->dptr, p->bytesize, site); e != cudaSuccess) return e;
  return ::simt::import::add_node({"cudaGraphAddMemAllocNode", site}, node, graph, after, count,
                                  ::simt::import::give_to_graph(p->dptr, p->bytesize));
}
inline cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                           size_t count, void* p, SIMT_SITE) {
  const auto* found = ::simt::import::find_allocation(p);
  if (found == nullptr || found->first != p || !found->second.of_graph)
    return ::simt::import::misuse("cudaGraphAddMemFreeNode", site, "the pointer is not one of a memory node");
  return ::simt::import::add_node({"cudaGraphAddMemFreeNode", site}, node, graph, after, count, [] {});
}
enum cudaGraphMemAttributeType {
  cudaGraphMemAttrUsedMemCurrent,
  cudaGraphMemAttrUsedMemHigh,
  cudaGraphMemAttrReservedMemCurrent,
  cudaGraphMemAttrReservedMemHigh
};
inline cudaError_t cudaDeviceGetGraphMemAttribute(int, cudaGraphMemAttributeType, void* value) {
  size_t bytes = 0;
  for (const auto& [address, a] : ::simt::import::the_program().memory) bytes += a.of_graph ? a.bytes : 0;
  *static_cast<size_t*>(value) = bytes;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGraphMemTrim(int) { return cudaSuccess; }

inline cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                            size_t count) {
  for (size_t i = 0; i < count; ++i) to[i]->after.push_back(from[i]);
  return cudaSuccess;
}
inline cudaError_t cudaGraphRemoveDependencies(cudaGraph_t, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                               size_t count) {
  for (size_t i = 0; i < count; ++i) {
    auto& after = to[i]->after;
    const size_t at = ::simt::import::place_of(after, from[i]);
    if (at == after.size()) return ::simt::import::returned(cudaErrorInvalidValue);
    after.erase(after.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return cudaSuccess;
}
inline cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count) {
  if (nodes != nullptr)
    for (size_t i = 0; i < *count && i < node->after.size(); ++i) nodes[i] = node->after[i];
  *count = node->after.size();
  return cudaSuccess;
}
inline cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count) {
  size_t found = 0;
  for (const auto& n : node->home->nodes)
    if (::simt::import::place_of(n->after, node) < n->after.size() && ++found && nodes != nullptr && found <= *count)
      nodes[found - 1] = n.get();
  *count = found;
  return cudaSuccess;
}
inline cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  auto& nodes = node->home->nodes;
  for (const auto& n : nodes)
    if (const size_t at = ::simt::import::place_of(n->after, node); at < n->after.size())
      n->after.erase(n->after.begin() + static_cast<std::ptrdiff_t>(at));
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].get() == node) return nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(i)), cudaSuccess;
  return ::simt::import::returned(cudaErrorInvalidValue);
}
inline cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (nodes != nullptr)
    for (size_t i = 0; i < *count && i < graph->nodes.size(); ++i) nodes[i] = graph->nodes[i].get();
  *count = graph->nodes.size();
  return cudaSuccess;
}
enum cudaGraphNodeType {
  cudaGraphNodeTypeKernel,
  cudaGraphNodeTypeMemcpy,
  cudaGraphNodeTypeMemset,
  cudaGraphNodeTypeHost,
  cudaGraphNodeTypeGraph,
  cudaGraphNodeTypeEmpty,
  cudaGraphNodeTypeMemAlloc = 10,
  cudaGraphNodeTypeMemFree,
  cudaGraphNodeTypeConditional = 13
};
inline cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  constexpr std::pair<const char*, cudaGraphNodeType> types[] = {
      {"launch", cudaGraphNodeTypeKernel},    {"LaunchKernel", cudaGraphNodeTypeKernel},
      {"Kernel", cudaGraphNodeTypeKernel},    {"Cooperative", cudaGraphNodeTypeKernel},
      {"Memcpy", cudaGraphNodeTypeMemcpy},    {"Memset", cudaGraphNodeTypeMemset},
      {"Host", cudaGraphNodeTypeHost},        {"Callback", cudaGraphNodeTypeHost},
      {"ChildGraph", cudaGraphNodeTypeGraph}, {"MemAlloc", cudaGraphNodeTypeMemAlloc},
      {"MemFree", cudaGraphNodeTypeMemFree},  {"Conditional", cudaGraphNodeTypeConditional}};
  *type = cudaGraphNodeTypeEmpty;
  for (const auto& [word, own] : types)
    if (__builtin_strstr(node->call, word) != nullptr) return *type = own, cudaSuccess;
  return cudaSuccess;
}
inline cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  size_t found = 0;
  for (const auto& n : graph->nodes)
    if (n->after.empty() && ++found && nodes != nullptr && found <= *count) nodes[found - 1] = n.get();
  *count = found;
  return cudaSuccess;
}
inline cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count) {
  size_t found = 0;
  for (const auto& n : graph->nodes)
    for (simt_graph_node* before : n->after)
      if (++found && from != nullptr && found <= *count) from[found - 1] = before, to[found - 1] = n.get();
  *count = found;
  return cudaSuccess;
}
enum cudaGraphDebugDotFlags { cudaGraphDebugDotFlagsVerbose = 1 };
// Writes the nodes and their dependencies.
inline cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned) {
  FILE* const file = std::fopen(path, "w");
  if (file == nullptr) return ::simt::import::returned(cudaErrorOperatingSystem);
  std::fputs("digraph {\n", file);
  for (const auto& n : graph->nodes) {
    std::fprintf(file, "  \"%p\" [label=\"%s\"];\n", static_cast<void*>(n.get()), n->call);
    for (void* before : n->after) std::fprintf(file, "  \"%p\" -> \"%p\";\n", before, static_cast<void*>(n.get()));
  }
  std::fputs("}\n", file);
  std::fclose(file);
  return cudaSuccess;
}
inline cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  *clone = new simt_graph;
  for (const auto& n : graph->nodes) (*clone)->nodes.push_back(std::make_unique<simt_graph_node>(*n));
  for (const auto& n : (*clone)->nodes) {
    n->home = *clone;
    for (simt_graph_node*& before : n->after)
      for (size_t i = 0; i < graph->nodes.size(); ++i)
        if (graph->nodes[i].get() == before) {
          before = (*clone)->nodes[i].get();
          break;
        }
  }
  return cudaSuccess;
}

// Copies the child's nodes into the graph; the child's node itself waits for them.
inline cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                              size_t count, cudaGraph_t child, SIMT_SITE) {
  cudaGraph_t copy = nullptr;
  cudaGraphClone(&copy, child);
  std::vector<cudaGraphNode_t> all(after, after + count);
  for (auto& n : copy->nodes) {
    if (n->after.empty()) n->after.assign(after, after + count);
    all.push_back(n.get());
    n->home = graph;
    graph->nodes.push_back(std::move(n));
  }
  delete copy;
  return ::simt::import::add_node({"cudaGraphAddChildGraphNode", site}, node, graph, all.data(), all.size(), [] {});
}

namespace simt::import {

inline std::vector<graph_step> steps_of(const std::vector<simt_graph_node*>& order) {
  std::vector<graph_step> steps;
  for (const simt_graph_node* n : order) {
    steps.push_back({{n->call, n->where, nullptr}, n->work, {}});
    for (const simt_graph_node* before : n->after) steps.back().after.push_back(place_of(order, before));
  }
  return steps;
}

}  // namespace simt::import

inline cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long = 0,
                                                 SIMT_SITE) {
  std::vector<simt_graph_node*> order;
  if (!::simt::import::order_of(*graph, order))
    return ::simt::import::misuse("cudaGraphInstantiate", site, "the graph's nodes wait for one another");
  *exec = new simt_graph_exec{order, ::simt::import::steps_of(order)};
  return cudaSuccess;
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags = 0,
                                        SIMT_SITE) {
  return cudaGraphInstantiateWithFlags(exec, graph, flags, site);
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, cudaGraphNode_t*, char*, size_t,
                                        SIMT_SITE) {
  return cudaGraphInstantiateWithFlags(exec, graph, 0, site);
}
inline cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  ::simt::import::run_graph(::simt::import::on(stream), exec->steps);
  return cudaPeekAtLastError();
}

namespace simt::import {

// Replaces the work of a node in an instantiated graph.
inline cudaError_t replace_work(cudaGraphExec_t exec, cudaGraphNode_t node, std::function<void()> work) {
  for (size_t i = 0; i < exec->nodes.size(); ++i)
    if (exec->nodes[i] == node) exec->steps[i].work = std::move(work);
  return cudaSuccess;
}

}  // namespace simt::import

inline cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                    const cudaKernelNodeParams* p, SIMT_SITE) {
  return ::simt::import::replace_work(exec, node, ::simt::import::kernel_work(*p, site));
}
inline cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* p, SIMT_SITE) {
  node->work = ::simt::import::kernel_work(*p, site);
  return cudaSuccess;
}
inline cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* p, SIMT_SITE) {
  node->work = ::simt::import::volume_work(*p, site);
  return cudaSuccess;
}
inline cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                    const cudaMemcpy3DParms* p, SIMT_SITE) {
  return ::simt::import::replace_work(exec, node, ::simt::import::volume_work(*p, site));
}
inline cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from, size_t bytes,
                                                  cudaMemcpyKind kind, SIMT_SITE) {
  node->work = ::simt::import::copy_work(site, to, from, bytes, kind);
  return cudaSuccess;
}
inline cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* p, SIMT_SITE) {
  node->work = ::simt::import::memset_work(*p, site);
  return cudaSuccess;
}
inline cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* p) {
  node->work = [p = *p] { p.fn(p.userData); };
  return cudaSuccess;
}
inline cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                                      const void* from, size_t bytes, cudaMemcpyKind kind, SIMT_SITE) {
  return ::simt::import::replace_work(exec, node, ::simt::import::copy_work(site, to, from, bytes, kind));
}
inline cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                    const cudaMemsetParams* p, SIMT_SITE) {
  return ::simt::import::replace_work(exec, node, ::simt::import::memset_work(*p, site));
}
inline cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                  const cudaHostNodeParams* p) {
  return ::simt::import::replace_work(exec, node, [p = *p] { p.fn(p.userData); });
}
enum cudaGraphExecUpdateResult {
  cudaGraphExecUpdateSuccess,
  cudaGraphExecUpdateError,
  cudaGraphExecUpdateErrorTopologyChanged,
  cudaGraphExecUpdateErrorNodeTypeChanged,
  cudaGraphExecUpdateErrorFunctionChanged,
  cudaGraphExecUpdateErrorParametersChanged,
  cudaGraphExecUpdateErrorNotSupported,
  cudaGraphExecUpdateErrorUnsupportedFunctionChange,
  cudaGraphExecUpdateErrorAttributesChanged
};
struct cudaGraphExecUpdateResultInfo {
  cudaGraphExecUpdateResult result;
  cudaGraphNode_t errorNode, errorFromNode;
};
// Takes over the work of another graph with as many nodes, in their order.
inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
  std::vector<simt_graph_node*> order;
  const bool fits = ::simt::import::order_of(*graph, order) && order.size() == exec->steps.size();
  *info = {fits ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged, nullptr, nullptr};
  if (!fits) return cudaErrorGraphExecUpdateFailure;
  *exec = {order, ::simt::import::steps_of(order)};
  return cudaSuccess;
}
inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t* node,
                                       cudaGraphExecUpdateResult* result) {
  cudaGraphExecUpdateResultInfo info;
  const cudaError_t e = cudaGraphExecUpdate(exec, graph, &info);
  if (node != nullptr) *node = info.errorNode;
  *result = info.result;
  return e;
}
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
