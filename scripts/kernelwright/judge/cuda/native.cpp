// Two small things that Python is too slow for: the heap of a kernel's process and the clock of the service.
// The heap hands out device memory that the service owns. It never touches that memory itself, but for the poison.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <iterator>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <vector>

namespace {

constexpr uint64_t ALIGN = 512;
constexpr uint64_t BAND = 512;  // bytes of guard before and after an allocation in poison mode
constexpr unsigned char BAND_BYTE = 0xA7;

struct Block { uint64_t start, length; };

std::mutex guard;
std::map<uint64_t, uint64_t> unused;       // address -> bytes, neighbours merged
std::map<uint64_t, Block> live;            // address handed out -> what it takes
std::vector<Block> quarantine;             // freed in poison mode: reused only after it
std::vector<uint64_t> made;                // pairs (address, bytes) handed out in poison mode
int (*fill)(uint64_t, unsigned char, size_t, void*) = nullptr;
int poison = -1;
uint64_t in_use = 0, most = 0, capacity = 0;

void give_back(Block block) {
  auto next = unused.lower_bound(block.start);
  if (next != unused.end() && block.start + block.length == next->first) {
    block.length += next->second;
    next = unused.erase(next);
  }
  if (next != unused.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == block.start) {
      before->second += block.length;
      return;
    }
  }
  unused.emplace(block.start, block.length);
}

uint64_t take(uint64_t length) {  // the first place that is large enough
  for (auto place = unused.begin(); place != unused.end(); ++place) {
    if (place->second < length) continue;
    const uint64_t start = place->first, rest = place->second - length;
    unused.erase(place);
    if (rest) unused.emplace(start + length, rest);
    return start;
  }
  throw std::runtime_error("CUDA out of memory: " + std::to_string(length) + " bytes asked for, " +
                           std::to_string(capacity - in_use) + " of " + std::to_string(capacity) + " are unused");
}

int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

}  // namespace

extern "C" {

void heap_open(uint64_t base, uint64_t size, void* memset_function) {
  std::lock_guard<std::mutex> hold(guard);
  unused.clear(), live.clear(), quarantine.clear(), made.clear();
  unused.emplace(base, size);
  capacity = size, in_use = most = 0;
  fill = reinterpret_cast<int (*)(uint64_t, unsigned char, size_t, void*)>(memset_function);
}

// byte: what new memory is filled with, or -1 for none; also forgets what was handed out before.
void heap_poison(int byte) {
  std::lock_guard<std::mutex> hold(guard);
  poison = byte;
  made.clear();
  for (const Block& block : quarantine) give_back(block);
  quarantine.clear();
}

// Pairs (address, bytes) handed out since heap_poison; returns how many pairs there are.
size_t heap_made(uint64_t* out, size_t pairs) {
  std::lock_guard<std::mutex> hold(guard);
  const size_t count = made.size() / 2;
  std::memcpy(out, made.data(), (count < pairs ? count : pairs) * 2 * sizeof(uint64_t));
  return count;
}

uint64_t heap_most(void) {  // most bytes in use at once since the last question
  std::lock_guard<std::mutex> hold(guard);
  const uint64_t found = most;
  most = in_use;
  return found;
}

void* heap_alloc(ssize_t size, int, void* stream) {
  if (size <= 0) return nullptr;
  std::lock_guard<std::mutex> hold(guard);
  const uint64_t band = poison >= 0 ? BAND : 0;
  const uint64_t length = (uint64_t(size) + 2 * band + ALIGN - 1) / ALIGN * ALIGN;
  const uint64_t start = take(length), address = start + band;
  live.emplace(address, Block{start, length});
  in_use += length;
  if (in_use > most) most = in_use;
  if (band && fill) {
    fill(start, BAND_BYTE, length, stream);
    fill(address, static_cast<unsigned char>(poison), size, stream);
    made.push_back(address), made.push_back(size);
  }
  return reinterpret_cast<void*>(address);
}

void heap_free(void* pointer, ssize_t, int, void*) {
  std::lock_guard<std::mutex> hold(guard);
  const auto found = live.find(reinterpret_cast<uint64_t>(pointer));
  if (found == live.end()) return;
  const Block block = found->second;
  live.erase(found);
  in_use -= block.length;
  if (poison >= 0) quarantine.push_back(block);
  else give_back(block);
}

// Open the gate, then note when the counter first shows each value up to `last`. stamps[0] is the opening and
// stamps[v] the first sight of v, 0 when it was not seen. Returns the last value seen; less than `last` after limit_ns.
int watch(volatile uint32_t* gate, volatile uint32_t* counter, int last, int64_t* stamps, int64_t limit_ns) {
  std::memset(stamps, 0, (size_t(last) + 1) * sizeof(int64_t));
  __sync_synchronize();
  stamps[0] = now();
  *gate = 1;
  __sync_synchronize();
  uint32_t seen = 0;
  for (uint64_t turn = 1;; turn++) {
    const uint32_t value = *counter;
    if (value != seen) {
      if (value > uint32_t(last) || value < seen) return -1;
      stamps[value] = now();
      seen = value;
      if (seen == uint32_t(last)) return last;
    } else if (turn % 1024 == 0 && now() - stamps[0] > limit_ns) {
      return int(seen);
    }
  }
}

}  // extern "C"
