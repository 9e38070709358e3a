/* Preloaded into a process: sets its wall clock wrong by the seconds in the file $SHIFTED_CLOCK. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long long *shift;
static int (*right)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SHIFTED_CLOCK");
    right = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    if (path == NULL)
        return;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    if (mapped != MAP_FAILED)
        shift = mapped;
}

int clock_gettime(clockid_t which, struct timespec *now) {
    if (right == NULL)
        begin();
    int failed = right(which, now);
    if (!failed && which == CLOCK_REALTIME && shift != NULL)
        now->tv_sec += *shift;
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec found;
    int failed = clock_gettime(CLOCK_REALTIME, &found);
    now->tv_sec = found.tv_sec;
    now->tv_usec = found.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *into) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (into != NULL)
        *into = found.tv_sec;
    return found.tv_sec;
}
