/* The log is standard error as it was at first: x/mobile turns it into a pipe to the log. */
#include <android/log.h>
#include <stdio.h>
#include <unistd.h>

static int out;

__attribute__((constructor)) static void save(void) { out = dup(2); }

int __android_log_vprint(int priority, const char *tag, const char *format, va_list rest) {
	dprintf(out, "%d %s: ", priority, tag);
	vdprintf(out, format, rest);
	return dprintf(out, "\n");
}

int __android_log_print(int priority, const char *tag, const char *format, ...) {
	va_list rest;
	va_start(rest, format);
	int n = __android_log_vprint(priority, tag, format, rest);
	va_end(rest);
	return n;
}

int __android_log_write(int priority, const char *tag, const char *text) {
	return __android_log_print(priority, tag, "%s", text);
}
