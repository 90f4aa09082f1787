/* Bionic's getnameinfo takes a size_t where other C libraries take a socklen_t. */
#pragma once
#define getnameinfo getnameinfo_of_this_machine
#include_next <netdb.h>
#undef getnameinfo
int getnameinfo(const struct sockaddr *, socklen_t, char *, size_t, char *, size_t, int);
