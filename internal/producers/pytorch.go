package producers

import "bytes"

// Categories of PyTorch's profiler.
const (
	Kernel         = "kernel"
	GPUMemcpy      = "gpu_memcpy"
	GPUMemset      = "gpu_memset"
	GPUAnnotation  = "gpu_user_annotation"
	CPUOperator    = "cpu_op"
	UserAnnotation = "user_annotation"
	CUDARuntime    = "cuda_runtime" // also of ROCm
	CUDADriver     = "cuda_driver"
	XPURuntime     = "xpu_runtime"
)

// IsRuntimeCall reports whether slices of a category are calls by which a program launches work of a device. Call and work have one value of
// the argument correlation.
func IsRuntimeCall(category []byte) bool {
	if len(category) > len(CUDARuntime) {
		return false // a switch would copy a long text
	}
	switch string(category) {
	case CUDARuntime, CUDADriver, XPURuntime:
		return true
	}
	return false
}

// StepPrefix and a number are the name of a step of training or inference.
const StepPrefix = "ProfilerStep#"

// IsGPUWork reports whether slices of a category are work of a GPU.
func IsGPUWork(category []byte) bool {
	if len(category) > len(GPUAnnotation) {
		return false // a switch would copy a long text
	}
	switch string(category) {
	case Kernel, GPUMemcpy, GPUMemset, GPUAnnotation:
		return true
	}
	return false
}

// ThreadName returns the name of a thread without what PyTorch puts around it, its tid: "thread 48213 (python)" is "python".
func ThreadName(name, tid []byte) []byte {
	name = bytes.TrimSpace(name)
	rest, ok := bytes.CutPrefix(name, []byte("thread "))
	if !ok || len(tid) == 0 {
		return name
	}
	rest, ok = bytes.CutPrefix(rest, tid)
	inner, isOpen := bytes.CutPrefix(rest, []byte(" ("))
	inner, isClosed := bytes.CutSuffix(inner, []byte(")"))
	if !ok || !isOpen || !isClosed || len(inner) == 0 {
		return name
	}
	return inner
}
