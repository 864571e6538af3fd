#include "validate/capture/inject/nvtx_ranges.h"

#include <nvtx3/nvToolsExt.h>

#include <mutex>
#include <set>
#include <string>

#include "validate/capture/inject/recorder.h"

namespace tilescope::capture {
namespace {

std::string narrow(const wchar_t* text) {
  std::string plain;
  for (; text != nullptr && *text != 0 && plain.size() < RangeStack::most_name; ++text)
    plain += *text < 128 ? static_cast<char>(*text) : '?';
  return plain;
}

// A text lives as long as the process; its address is the handle that NVTX's users get.
const std::string* registered(std::string text) {
  constexpr std::size_t most_texts = 1 << 16;
  static std::mutex& mutex = *new std::mutex;
  static std::set<std::string>& texts = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  if (texts.size() >= most_texts && !texts.contains(text)) text = "(registered)";
  return &*texts.insert(std::move(text)).first;
}

int push(std::string_view name) {
  try {
    return Recorder::push_range(name);
  } catch (...) {  // out of memory: the range is missing
    return NVTX_NO_PUSH_POP_TRACKING;
  }
}

int push_event(const nvtxEventAttributes_t* event) {
  if (event == nullptr) return push("");
  const nvtxMessageValue_t& message = event->message;
  switch (event->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return push(message.ascii != nullptr ? message.ascii : "");
    case NVTX_MESSAGE_TYPE_UNICODE:
      return push(narrow(message.unicode));
    case NVTX_MESSAGE_TYPE_REGISTERED:
      if (message.registered == nullptr) return push("(registered)");
      return push(*reinterpret_cast<const std::string*>(message.registered));
    default:
      return push("(unnamed)");
  }
}

int NVTX_API push_ascii(const char* message) { return push(message != nullptr ? message : ""); }
int NVTX_API push_wide(const wchar_t* message) { return push(narrow(message)); }
int NVTX_API push_of_domain(nvtxDomainHandle_t, const nvtxEventAttributes_t* event) { return push_event(event); }
int NVTX_API push_attributes(const nvtxEventAttributes_t* event) { return push_event(event); }
int NVTX_API pop() { return Recorder::pop_range(); }
int NVTX_API pop_of_domain(nvtxDomainHandle_t) { return Recorder::pop_range(); }

// Programs may take a null handle for a failure, so each text and each domain has one.
template <class Handle>
Handle handle_of(std::string text) {
  try {
    return reinterpret_cast<Handle>(const_cast<std::string*>(registered(std::move(text))));
  } catch (...) {
    return nullptr;
  }
}
nvtxStringHandle_t NVTX_API register_ascii(nvtxDomainHandle_t, const char* text) {
  return handle_of<nvtxStringHandle_t>(std::string(std::string_view(text != nullptr ? text : "").substr(0, 256)));
}
nvtxStringHandle_t NVTX_API register_wide(nvtxDomainHandle_t, const wchar_t* text) {
  return handle_of<nvtxStringHandle_t>(narrow(text));
}
nvtxDomainHandle_t NVTX_API domain_ascii(const char* name) {
  return handle_of<nvtxDomainHandle_t>(name != nullptr ? name : "");
}
nvtxDomainHandle_t NVTX_API domain_wide(const wchar_t* name) { return handle_of<nvtxDomainHandle_t>(narrow(name)); }

struct Entry {
  NvtxCallbackModule module;
  unsigned id;
  NvtxFunctionPointer function;
};

template <class Function>
NvtxFunctionPointer plain(Function* function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

bool follow_ranges(void* get_export_table) {
  if (get_export_table == nullptr) return false;
  const Entry entries[] = {
      {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushEx, plain(push_attributes)},
      {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushA, plain(push_ascii)},
      {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushW, plain(push_wide)},
      {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePop, plain(pop)},
      {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePushEx, plain(push_of_domain)},
      {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePop, plain(pop_of_domain)},
      {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRegisterStringA, plain(register_ascii)},
      {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRegisterStringW, plain(register_wide)},
      {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainCreateA, plain(domain_ascii)},
      {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainCreateW, plain(domain_wide)},
  };
  const auto tables = static_cast<const NvtxExportTableCallbacks*>(
      reinterpret_cast<NvtxGetExportTableFunc_t>(get_export_table)(NVTX_ETID_CALLBACKS));
  if (tables == nullptr || tables->struct_size < sizeof(*tables)) return false;
  for (const Entry& entry : entries) {
    NvtxFunctionTable table = nullptr;
    unsigned size = 0;
    if (tables->GetModuleFunctionTable(entry.module, &table, &size) != 1 || table == nullptr) return false;
    if (entry.id < size && table[entry.id] != nullptr) *table[entry.id] = entry.function;
  }
  return true;
}

}  // namespace tilescope::capture
