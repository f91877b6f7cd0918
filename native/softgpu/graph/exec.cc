#include "softgpu/graph/exec.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/event.h"
#include "softgpu/graph/functions.h"
#include "softgpu/launch.h"

namespace sluice::softgpu {
namespace {

// More branches than this share streams: they are then in an order that nobody asked for, which is allowed.
constexpr size_t kMaxLanes = 16;

class Join : public Operation {
 public:
  CUresult run(Stream&) override { return CUDA_SUCCESS; }
  bool is_brief() const override { return true; }
};

// What follows in the stream comes after `ends`.
void queue_join(Stream& stream, const std::vector<Dependency>& ends) {
  auto join = std::make_unique<Join>();
  join->dependencies = ends;
  stream.context->submit(stream, std::move(join));
}

CUcontext context_of(const Work& work) {
  if (const auto* kernel = std::get_if<KernelWork>(&work)) return kernel->what.ctx;
  if (const auto* copy = std::get_if<CopyWork>(&work)) return copy->context;
  if (const auto* fill = std::get_if<FillWork>(&work)) return fill->what.ctx;
  if (const auto* record = std::get_if<RecordWork>(&work)) {
    const auto* event = lookup<Event>(record->event);
    return event ? event->context.handle() : nullptr;
  }
  return nullptr;
}

// Everything that a node refers to is still there.
bool is_complete(const Work& work) {
  if (const auto* kernel = std::get_if<KernelWork>(&work))
    return lookup<Function>(kernel->what.func) != nullptr;
  if (const auto* wait = std::get_if<WaitWork>(&work)) return lookup<Event>(wait->event) != nullptr;
  if (const auto* record = std::get_if<RecordWork>(&work)) return lookup<Event>(record->event) != nullptr;
  if (const auto* copy = std::get_if<CopyWork>(&work)) return lookup<Context>(copy->context) != nullptr;
  if (const auto* fill = std::get_if<FillWork>(&work)) return lookup<Context>(fill->what.ctx) != nullptr;
  return true;
}

// The first node that cannot be launched, of the graph or of one inside it.
Node* incomplete(const Graph& graph) {
  for (const auto& node : graph.nodes) {
    const auto* child = std::get_if<ChildWork>(&node->work);
    if (child != nullptr && incomplete(*child->graph) != nullptr) return node.get();
    if (!is_complete(node->work)) return node.get();
  }
  return nullptr;
}

CUresult queue_kernel(const KernelWork& work, CUstream stream) {
  CUlaunchConfig config{};
  config.gridDimX = work.what.gridDimX;
  config.gridDimY = work.what.gridDimY;
  config.gridDimZ = work.what.gridDimZ;
  config.blockDimX = work.what.blockDimX;
  config.blockDimY = work.what.blockDimY;
  config.blockDimZ = work.what.blockDimZ;
  config.sharedMemBytes = work.what.sharedMemBytes;
  config.hStream = stream;
  std::vector<CUlaunchAttribute> attributes = work.attributes;
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  size_t bytes = work.packed.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<std::byte*>(work.packed.data()),
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  return cuLaunchKernelEx(&config, work.what.func, nullptr, extra);
}

CUresult queue_fill(const CUDA_MEMSET_NODE_PARAMS_v2& what, CUstream stream) {
  switch (what.elementSize) {
    case 1:
      return cuMemsetD2D8Async(what.dst, what.pitch, static_cast<unsigned char>(what.value), what.width,
                               what.height, stream);
    case 2:
      return cuMemsetD2D16Async(what.dst, what.pitch, static_cast<unsigned short>(what.value), what.width,
                                what.height, stream);
    default:
      return cuMemsetD2D32Async(what.dst, what.pitch, what.value, what.width, what.height, stream);
  }
}

}  // namespace

struct GraphExec::Launching {
  Stream& stream;
  std::unordered_map<const Node*, Ends> ends;
};

CUresult GraphExec::create(const Graph& graph, Context& context, unsigned long long flags, Node** error_node,
                           CUgraphInstantiateResult* why, std::unique_ptr<GraphExec>* out) {
  constexpr auto kKnown = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                          CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  *error_node = nullptr;
  *why = CUDA_GRAPH_INSTANTIATE_ERROR;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) {
    *why = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if ((flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!graph.nodes.empty() && graph.order().empty()) {
    *why = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (Node* bad = incomplete(graph)) {
    *error_node = bad;
    return CUDA_ERROR_INVALID_VALUE;
  }
  *why = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  out->reset(new GraphExec(graph.clone(), context, flags));
  return CUDA_SUCCESS;
}

GraphExec::GraphExec(std::shared_ptr<Graph> copy, Context& context, unsigned long long given)
    : plan(std::move(copy)),
      flags(given),
      handle_(create_handle(kKind, this)),
      context_(context.shared_from_this()) {}

// Launches that run go on: streams keep what was queued.
GraphExec::~GraphExec() {
  destroy_handle(handle_);
  for (const auto& lane : lanes_) {
    if (lookup<Stream>(lane->handle) == lane->stream.get())
      lane->stream->context->destroy_stream(*lane->stream);
  }
}

Node* GraphExec::node(const Node& original) const {
  const std::function<Node*(const Graph&)> search = [&](const Graph& graph) -> Node* {
    if (Node* found = graph.copy_of(original.uid)) return found;
    for (const auto& own : graph.nodes) {
      const auto* child = std::get_if<ChildWork>(&own->work);
      if (child == nullptr) continue;
      if (Node* found = search(*child->graph)) return found;
    }
    return nullptr;
  };
  return search(*plan);
}

CUresult GraphExec::launch(Stream& stream) {
  SLUICE_TRY(stream.context->error());
  if (incomplete(*plan) != nullptr) return CUDA_ERROR_INVALID_VALUE;
  Ends begin = std::move(previous_);
  queue_join(stream, begin);
  begin = {{stream.shared_from_this(), stream.last_number()}};
  for (const auto& lane : lanes_) lane->last = nullptr;
  Launching launching{stream, {}};
  Ends ends;
  const CUresult result = queue_graph(launching, *plan, begin, &ends);
  // Also after an error: what was queued is waited for.
  for (const auto& lane : lanes_) {
    if (lane->last != nullptr) ends.push_back({lane->stream, lane->stream->last_number()});
  }
  queue_join(stream, ends);
  previous_ = {{stream.shared_from_this(), stream.last_number()}};
  return result;
}

CUresult GraphExec::queue_graph(Launching& launching, const Graph& graph, const Ends& begin, Ends* ends) {
  for (Node* node : graph.order()) {
    Ends before;
    for (const Edge& edge : node->in) {
      const Ends& of_one = launching.ends[edge.from];
      before.insert(before.end(), of_one.begin(), of_one.end());
    }
    Ends after;
    SLUICE_TRY(queue_node(launching, *node, node->in.empty() ? begin : before, &after));
    if (node->out.empty()) ends->insert(ends->end(), after.begin(), after.end());
    launching.ends[node] = std::move(after);
  }
  return CUDA_SUCCESS;
}

CUresult GraphExec::take_lane(Context& context, const Node& node, Lane** out) {
  Lane* unused = nullptr;
  size_t of_context = 0;
  for (const auto& lane : lanes_) {
    if (lane->stream->context.get() != &context) continue;
    of_context++;
    // A chain goes on where it is.
    const bool follows = std::any_of(node.in.begin(), node.in.end(),
                                     [&](const Edge& edge) { return edge.from == lane->last; });
    if (follows) {
      *out = lane.get();
      return CUDA_SUCCESS;
    }
    if (lane->last == nullptr || unused == nullptr) unused = lane.get();
  }
  if (unused == nullptr || (unused->last != nullptr && of_context < kMaxLanes)) {
    auto lane = std::make_unique<Lane>();
    SLUICE_TRY(context.create_stream(CU_STREAM_NON_BLOCKING, 0, &lane->handle));
    SLUICE_TRY(context.resolve_stream(lane->handle, &lane->stream));
    unused = lane.get();
    lanes_.push_back(std::move(lane));
  }
  *out = unused;
  return CUDA_SUCCESS;
}

CUresult GraphExec::queue_node(Launching& launching, Node& node, const Ends& begin, Ends* ends) {
  if (const auto* child = std::get_if<ChildWork>(&node.work); child != nullptr && node.enabled) {
    SLUICE_TRY(queue_graph(launching, *child->graph, begin, ends));
    if (ends->empty()) *ends = begin;
    return CUDA_SUCCESS;
  }
  auto* context = lookup<Context>(context_of(node.work));
  Lane* lane = nullptr;
  SLUICE_TRY(take_lane(context ? *context : *context_, node, &lane));
  lane->last = &node;
  queue_join(*lane->stream, begin);
  CUresult result = CUDA_SUCCESS;
  if (node.enabled) {
    if (const auto* kernel = std::get_if<KernelWork>(&node.work)) {
      result = queue_kernel(*kernel, lane->handle);
    } else if (const auto* copy = std::get_if<CopyWork>(&node.work)) {
      result = cuMemcpy3DAsync_v2(&copy->what, lane->handle);
    } else if (const auto* fill = std::get_if<FillWork>(&node.work)) {
      result = queue_fill(fill->what, lane->handle);
    } else if (const auto* host = std::get_if<HostWork>(&node.work)) {
      result = cuLaunchHostFunc(lane->handle, host->what.fn, host->what.userData);
    } else if (const auto* wait = std::get_if<WaitWork>(&node.work)) {
      result = cuStreamWaitEvent(lane->handle, wait->event, CU_EVENT_WAIT_DEFAULT);
    } else if (const auto* record = std::get_if<RecordWork>(&node.work)) {
      result = cuEventRecord(record->event, lane->handle);
    } else if (const auto* alloc = std::get_if<AllocWork>(&node.work)) {
      const bool replaces = (flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
      if (!alloc->memory->take() && !replaces) result = CUDA_ERROR_INVALID_VALUE;
    } else if (const auto* release = std::get_if<FreeWork>(&node.work)) {
      const auto memory = GraphMemory::find(release->address);
      if (memory == nullptr || !memory->give_back()) result = CUDA_ERROR_INVALID_VALUE;
    }
  }
  *ends = {{lane->stream, lane->stream->last_number()}};
  return result;
}

CUresult GraphExec::set_work(Node& own, Work work) {
  if (own.work.index() != work.index()) return CUDA_ERROR_INVALID_VALUE;
  if (auto* kernel = std::get_if<KernelWork>(&work)) {
    const auto& before = std::get<KernelWork>(own.work);
    // A node stays in the context of its kernel; its attributes stay as well.
    if (kernel->what.ctx != before.what.ctx) return CUDA_ERROR_INVALID_VALUE;
    kernel->attributes = before.attributes;
  }
  if (std::holds_alternative<AllocWork>(work) || std::holds_alternative<FreeWork>(work))
    return CUDA_ERROR_NOT_SUPPORTED;
  if (auto* child = std::get_if<ChildWork>(&work)) {
    const auto& before = std::get<ChildWork>(own.work).graph;
    if (before->nodes.size() != child->graph->nodes.size()) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < before->nodes.size(); i++) {
      SLUICE_TRY(set_work(*before->nodes[i], child->graph->nodes[i]->work));
    }
    return CUDA_SUCCESS;
  }
  own.work = std::move(work);
  return CUDA_SUCCESS;
}

namespace {

// Whether both have the same edges; nodes are paired in the order in which they were added.
bool same_edges(const Graph& first, size_t place, const Graph& second) {
  const auto place_in = [](const Graph& graph, const Node* node) {
    for (size_t i = 0; i < graph.nodes.size(); i++) {
      if (graph.nodes[i].get() == node) return i;
    }
    return graph.nodes.size();
  };
  std::vector<size_t> a;
  std::vector<size_t> b;
  for (const Edge& edge : first.nodes[place]->in) a.push_back(place_in(first, edge.from));
  for (const Edge& edge : second.nodes[place]->in) b.push_back(place_in(second, edge.from));
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

CUgraphExecUpdateResult differs(const Node& own, const Node& given) {
  if (own.type() != given.type()) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
  if (const auto* kernel = std::get_if<KernelWork>(&given.work)) {
    if (std::get<KernelWork>(own.work).what.ctx != kernel->what.ctx)
      return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
  }
  if (const auto* copy = std::get_if<CopyWork>(&given.work)) {
    const CUDA_MEMCPY3D& before = std::get<CopyWork>(own.work).what;
    if (before.srcMemoryType != copy->what.srcMemoryType ||
        before.dstMemoryType != copy->what.dstMemoryType ||
        std::get<CopyWork>(own.work).context != copy->context) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    }
  }
  if (const auto* alloc = std::get_if<AllocWork>(&given.work)) {
    if (std::get<AllocWork>(own.work).what.bytesize != alloc->what.bytesize)
      return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
  }
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

// Checks all of it before anything is changed.
CUgraphExecUpdateResult compare(const Graph& own, const Graph& given, CUgraphExecUpdateResultInfo* info) {
  if (own.nodes.size() != given.nodes.size()) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  for (size_t i = 0; i < own.nodes.size(); i++) {
    Node& node = *given.nodes[i];
    info->errorNode = node.handle();
    if (!same_edges(own, i, given)) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (const auto why = differs(*own.nodes[i], node); why != CU_GRAPH_EXEC_UPDATE_SUCCESS) return why;
    if (!is_complete(node.work)) return CU_GRAPH_EXEC_UPDATE_ERROR;
    if (const auto* child = std::get_if<ChildWork>(&node.work)) {
      const auto why = compare(*std::get<ChildWork>(own.nodes[i]->work).graph, *child->graph, info);
      if (why != CU_GRAPH_EXEC_UPDATE_SUCCESS) return why;
    }
  }
  info->errorNode = nullptr;
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

void take_over(Graph& own, const Graph& given) {
  for (size_t i = 0; i < own.nodes.size(); i++) {
    Node& node = *own.nodes[i];
    if (const auto* child = std::get_if<ChildWork>(&given.nodes[i]->work)) {
      take_over(*std::get<ChildWork>(node.work).graph, *child->graph);
    } else if (!std::holds_alternative<AllocWork>(node.work)) {
      node.work = given.nodes[i]->work;
    }
  }
}

}  // namespace

CUresult GraphExec::update(const Graph& graph, CUgraphExecUpdateResultInfo* info) {
  *info = {};
  info->result = compare(*plan, graph, info);
  if (info->result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  take_over(*plan, graph);
  return CUDA_SUCCESS;
}

}  // namespace sluice::softgpu
