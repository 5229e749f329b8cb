// Conditional nodes of CUDA graphs: bodies that run while, or as, a kernel's value says.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "simt/import/graphs.hpp"

// The condition of a conditional node. It has its default value, if asked for, at each launch of the graph.
using cudaGraphConditionalHandle = unsigned long long;
#define cudaGraphCondAssignDefault 1
enum cudaGraphConditionalNodeType { cudaGraphCondTypeIf, cudaGraphCondTypeWhile, cudaGraphCondTypeSwitch };
inline cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t,
                                                    unsigned initial = 0, unsigned flags = 0) {
  *handle = ::simt::import::new_condition(initial, (flags & cudaGraphCondAssignDefault) != 0);
  return cudaSuccess;
}
inline void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value) {
  ::simt::import::set_condition(handle, value);
}
struct cudaConditionalNodeParams {
  cudaGraphConditionalHandle handle;
  cudaGraphConditionalNodeType type;
  unsigned size;
  cudaGraph_t* phGraph_out;  // the bodies, `size` of them
};
// Of the other types, the parameters that graphs beside conditional nodes have in CUDA's samples.
struct cudaGraphNodeParams {
  cudaGraphNodeType type;
  int reserved0[3];
  cudaKernelNodeParams kernel;
  cudaMemsetParams memset;
  cudaHostNodeParams host;
  struct {
    cudaGraph_t graph;
  } graph;
  cudaConditionalNodeParams conditional;
};

namespace simt::import {

inline void run_body(const simt_graph& body) {
  std::vector<simt_graph_node*> order;
  if (order_of(body, order))
    for (const simt_graph_node* n : order) n->work();
}
inline cudaError_t add_conditional(const node_call& call, cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, size_t count, cudaConditionalNodeParams& p) {
  const auto bodies = std::make_shared<std::vector<simt_graph>>(p.size);  // outlive the graph in what is instantiated
  p.phGraph_out = new cudaGraph_t[p.size];
  for (unsigned i = 0; i < p.size; ++i) p.phGraph_out[i] = &(*bodies)[i];
  return add_node(call, node, graph, after, count, [bodies, p] {
    const unsigned value = condition(p.handle), chosen = p.type == cudaGraphCondTypeIf ? value == 0 : value;
    if (p.type == cudaGraphCondTypeWhile)
      while (condition(p.handle) != 0 && cudaPeekAtLastError() == cudaSuccess) run_body(bodies->front());
    else if (chosen < p.size)
      run_body((*bodies)[chosen]);
    end_condition(p.handle);
  });
}

}  // namespace simt::import

inline cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                    size_t count, cudaGraphNodeParams* p, SIMT_SITE) {
  switch (p->type) {
    case cudaGraphNodeTypeKernel: return cudaGraphAddKernelNode(node, graph, after, count, &p->kernel, site);
    case cudaGraphNodeTypeMemset: return cudaGraphAddMemsetNode(node, graph, after, count, &p->memset, site);
    case cudaGraphNodeTypeHost: return cudaGraphAddHostNode(node, graph, after, count, &p->host, site);
    case cudaGraphNodeTypeGraph: return cudaGraphAddChildGraphNode(node, graph, after, count, p->graph.graph, site);
    case cudaGraphNodeTypeEmpty: return cudaGraphAddEmptyNode(node, graph, after, count, site);
    case cudaGraphNodeTypeConditional:
      return ::simt::import::add_conditional({"cudaGraphAddConditionalNode", site}, node, graph, after, count,
                                             p->conditional);
    default: ::simt::import::not_modelled("cudaGraphAddNode", "a node of this type", site);
  }
}
// With data of edges, which order kernels as the edges do.
inline cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, const void*,
                                    size_t count, cudaGraphNodeParams* p, SIMT_SITE) {
  return cudaGraphAddNode(node, graph, after, count, p, site);
}
