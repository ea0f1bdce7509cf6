package producers

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
