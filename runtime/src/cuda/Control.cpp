//===- Control.cpp - A star of TCP connections ----------------------------===//
#include "Control.h"

#include "meshrt/types.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace meshrt;
using namespace meshrt::cuda;

namespace {

constexpr int kCandidates = 16;

struct Greeting {
  char magic[8] = {'m', 'e', 's', 'h', 'r', 't', '0', '1'};
  uint64_t job = 0;
  int32_t rank = 0, size = 0;
};

double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

uint64_t hash64(const std::string &text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

/// The i-th port to try: in 20000..29999, below the ephemeral range.
int candidatePort(uint64_t job, int i) {
  return 20000 + static_cast<int>((job + uint64_t(i) * 997) % 10000);
}

int listenOn(int port) {
  int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int off = 0, on = 1;
  if (fd >= 0)
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  sockaddr_in6 any6 = {};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(static_cast<uint16_t>(port));
  if (fd >= 0 && bind(fd, reinterpret_cast<sockaddr *>(&any6), sizeof(any6)) == 0 &&
      listen(fd, 4096) == 0)
    return fd;
  if (fd >= 0)
    close(fd);
  // A host without IPv6.
  fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return -1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in any4 = {};
  any4.sin_family = AF_INET;
  any4.sin_port = htons(static_cast<uint16_t>(port));
  if (bind(fd, reinterpret_cast<sockaddr *>(&any4), sizeof(any4)) == 0 &&
      listen(fd, 4096) == 0)
    return fd;
  close(fd);
  return -1;
}

int portOf(int listener) {
  sockaddr_storage address = {};
  socklen_t length = sizeof(address);
  getsockname(listener, reinterpret_cast<sockaddr *>(&address), &length);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6 &>(address).sin6_port
                   : reinterpret_cast<sockaddr_in &>(address).sin_port);
}

bool transfer(int fd, void *data, size_t bytes, bool sending, double deadline) {
  auto *p = static_cast<char *>(data);
  while (bytes > 0) {
    pollfd entry = {fd, static_cast<short>(sending ? POLLOUT : POLLIN), 0};
    double left = deadline - now();
    if (left <= 0 || poll(&entry, 1, static_cast<int>(left * 1e3) + 1) <= 0)
      return false;
    ssize_t n = sending ? ::send(fd, p, bytes, MSG_NOSIGNAL)
                        : recv(fd, p, bytes, 0);
    if (n <= 0)
      return false;
    p += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

int connectTo(const std::string &host, int port, double seconds) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found))
    return -1;
  int result = -1;
  for (addrinfo *a = found; a && result < 0; a = a->ai_next) {
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
      continue;
    timeval limit = {static_cast<time_t>(seconds), 0};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
      result = fd;
    else
      close(fd);
  }
  freeaddrinfo(found);
  return result;
}

/// "host:port" of MESHRT_RENDEZVOUS.
std::pair<std::string, int> parseAddress(const std::string &text) {
  size_t colon = text.rfind(':');
  int port = colon == std::string::npos ? 0 : std::atoi(text.c_str() + colon + 1);
  if (port <= 0 || port > 65535)
    throw Error("MESHRT_RENDEZVOUS is '" + text +
                "'; expected host:port or file:path");
  return {text.substr(0, colon), port};
}

std::string rendezvous(const Environment &environment) {
  const char *value = environment("MESHRT_RENDEZVOUS");
  return value ? value : "";
}

} // namespace

Control::Control(const Launch &launch, const Environment &environment,
                 double timeout)
    : rank_(launch.rank), size_(launch.size), job_(hash64(launch.job)) {
  if (size_ == 1)
    return;
  if (rank_ == 0)
    acceptAll(listenAsRoot(launch, environment), now() + timeout);
  else
    connectToRoot(launch, environment, now() + timeout);
}

Control::~Control() {
  for (int fd : sockets_)
    if (fd >= 0)
      close(fd);
}

int Control::listenAsRoot(const Launch &launch, const Environment &environment) {
  if (launch.listener >= 0)
    return launch.listener;
  std::string where = rendezvous(environment);
  if (where.starts_with("file:")) {
    int listener = listenOn(0);
    if (listener < 0)
      throw Error(std::string("cannot listen: ") + std::strerror(errno));
    char host[256] = "127.0.0.1";
    gethostname(host, sizeof(host) - 1);
    std::string path = where.substr(5);
    std::ofstream(path + ".part") << host << " " << portOf(listener) << " "
                                  << job_ << "\n";
    if (std::rename((path + ".part").c_str(), path.c_str()) != 0)
      throw Error("cannot write the rendezvous file '" + path +
                  "': " + std::strerror(errno));
    return listener;
  }
  if (!where.empty()) {
    auto [host, port] = parseAddress(where);
    int listener = listenOn(port);
    if (listener < 0)
      throw Error("cannot listen on port " + std::to_string(port) +
                  " of MESHRT_RENDEZVOUS: " + std::strerror(errno));
    return listener;
  }
  for (int i = 0; i < kCandidates; ++i) {
    int listener = listenOn(candidatePort(job_, i));
    if (listener >= 0)
      return listener;
  }
  throw Error("none of " + std::to_string(kCandidates) +
              " ports derived from the job's name is free; set "
              "MESHRT_RENDEZVOUS=host:port");
}

void Control::acceptAll(int listener, double deadline) {
  sockets_.assign(size_, -1);
  int missing = size_ - 1;
  while (missing > 0) {
    pollfd entry = {listener, POLLIN, 0};
    double left = deadline - now();
    if (left <= 0 || poll(&entry, 1, static_cast<int>(left * 1e3) + 1) <= 0) {
      close(listener);
      throw Error(std::to_string(missing) + " of " + std::to_string(size_) +
                  " ranks did not connect to rank 0 in time");
    }
    int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0)
      continue;
    Greeting theirs, ours;
    ours.job = job_, ours.size = size_;
    // A stranger (a port scan, another job) is dropped.
    if (transfer(fd, &theirs, sizeof(theirs), false, now() + 5) &&
        std::memcmp(theirs.magic, ours.magic, sizeof(ours.magic)) == 0 &&
        theirs.job == job_ && theirs.size == size_ && theirs.rank > 0 &&
        theirs.rank < size_ && sockets_[theirs.rank] < 0 &&
        transfer(fd, &ours, sizeof(ours), true, now() + 5)) {
      int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      sockets_[theirs.rank] = fd;
      --missing;
    } else {
      close(fd);
    }
  }
  close(listener);
}

void Control::connectToRoot(const Launch &launch, const Environment &environment,
                            double deadline) {
  std::string where = rendezvous(environment);
  bool byFile = where.starts_with("file:");
  std::pair<std::string, int> address = {launch.rootHost, launch.port};
  if (!where.empty() && !byFile)
    address = parseAddress(where);
  if (address.first.empty() && !byFile)
    throw Error("do not know where rank 0 runs; set MASTER_ADDR, or "
                "MESHRT_RENDEZVOUS=file:/path on a shared file system");
  for (int attempt = 0; now() < deadline; ++attempt) {
    if (byFile) {
      uint64_t job = 0;
      std::ifstream file(where.substr(5));
      if (!(file >> address.first >> address.second >> job) || job != job_)
        address.second = -1; // not there yet, or an earlier job's
    }
    int port = address.second ? address.second
                              : candidatePort(job_, attempt % kCandidates);
    int fd = port > 0 ? connectTo(address.first, port, 5) : -1;
    Greeting ours, theirs;
    ours.job = job_, ours.rank = rank_, ours.size = size_;
    if (fd >= 0 && transfer(fd, &ours, sizeof(ours), true, now() + 5) &&
        transfer(fd, &theirs, sizeof(theirs), false, now() + 5) &&
        std::memcmp(theirs.magic, ours.magic, sizeof(ours.magic)) == 0 &&
        theirs.job == job_) {
      sockets_ = {fd};
      return;
    }
    if (fd >= 0)
      close(fd);
    if (attempt % kCandidates == kCandidates - 1 || address.second)
      usleep(100 * 1000);
  }
  throw Error("rank " + std::to_string(rank_) + " could not reach rank 0 on '" +
              address.first + "' in time");
}

void Control::broadcast(void *data, size_t bytes) {
  double deadline = now() + 600;
  for (int fd : sockets_)
    if (fd >= 0 && !transfer(fd, data, bytes, rank_ == 0, deadline))
      throw Error("lost the connection between rank 0 and another rank",
                  Error::kInternal);
}

void Control::send(int socket, const std::string &message) {
  std::string line = message + "\n";
  transfer(socket, line.data(), line.size(), true, now() + 5);
}

void Control::reportFailure(const std::string &message) {
  for (int &fd : sockets_)
    if (fd >= 0)
      send(fd, message);
}

std::string Control::failure() {
  for (size_t i = 0; i < sockets_.size(); ++i) {
    int &fd = sockets_[i];
    if (fd < 0)
      continue;
    pollfd entry = {fd, POLLIN, 0};
    if (poll(&entry, 1, 0) <= 0)
      continue;
    char buffer[512];
    ssize_t n = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (n > 0) {
      pending_.append(buffer, static_cast<size_t>(n));
      size_t end = pending_.find('\n');
      if (end != std::string::npos)
        return pending_.substr(0, end);
      continue;
    }
    if (n == 0) {
      close(fd);
      fd = -1;
      return "rank " + std::to_string(rank_ == 0 ? static_cast<int>(i) : 0) +
             " ended before the others";
    }
  }
  return "";
}
