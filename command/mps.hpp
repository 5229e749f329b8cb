// NVIDIA's Multi-Process Service for the time of a run: workers use one GPU at the same time instead of in turn.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

namespace warpcheck::cli {

// A daemon for this process: the CUDA programs that it starts while the object exists are its clients. A guard process
// stops the daemon and removes its folder, however this process ends, even by SIGKILL.
class mps_daemon {
 public:
  // Throws environment_error if nvidia-cuda-mps-control is missing or starts no daemon.
  mps_daemon();
  ~mps_daemon();
  mps_daemon(const mps_daemon&) = delete;
  mps_daemon& operator=(const mps_daemon&) = delete;

  const std::string& folder() const { return folder_; }

 private:
  void stop();

  std::string folder_;
  std::optional<std::string> pipes_before_, logs_before_;  // of the environment
  pid_t guard_ = -1;
  int alive_ = -1;  // the guard reads the other end and acts when no process has this one any more
};

// Returns the daemon of a run on `device` that requests one, or null. Throws usage_error if the device is no GPU.
std::unique_ptr<mps_daemon> mps_if(bool asked, const std::string& device);

}  // namespace warpcheck::cli
