#include <stdint.h>
#include_next <jni.h>
