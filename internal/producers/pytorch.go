package producers

// Categories of PyTorch's profiler.
const (
	Kernel         = "kernel"
	GPUMemcpy      = "gpu_memcpy"
	GPUMemset      = "gpu_memset"
	GPUAnnotation  = "gpu_user_annotation"
	CPUOperator    = "cpu_op"
	UserAnnotation = "user_annotation"
)

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
