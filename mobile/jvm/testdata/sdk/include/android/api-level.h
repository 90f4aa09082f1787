#pragma once
/* Android 11, the first that hides the interfaces. */
static inline int android_get_device_api_level(void) { return 30; }
