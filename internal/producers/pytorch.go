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
	CUDARuntime    = "cuda_runtime" // also used for ROCm
	CUDADriver     = "cuda_driver"
	XPURuntime     = "xpu_runtime"
)

// IsRuntimeCall reports whether slices of a category are calls that launch work on a device. A call and its work have the same
// correlation argument.
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

// StepPrefix precedes the number in the name of a training or inference step.
const StepPrefix = "ProfilerStep#"

// IsGPUWork reports whether slices of a category are GPU work.
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

// ThreadName removes the tid that PyTorch adds to thread names: "thread 48213 (python)" becomes "python".
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
