/* Preloaded by poison.mjs: a process ends as by SIGKILL when a thread whose name matches the pattern POISON_THREAD reads the
 * number POISON_NUMBER of a JSON text, or gives it to libcurl as a part of a header, as if a fault of the program were there. Other
 * threads read it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fnmatch.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct curl_slist;

static const char* poisoned_thread;
static const char* poison;

__attribute__((constructor)) static void read_environment(void) {
    poisoned_thread = getenv("POISON_THREAD");
    poison = getenv("POISON_NUMBER");
}

static int is_poisoned_thread(void) {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    return fnmatch(poisoned_thread, name, 0) == 0;
}

unsigned long long strtoull(const char* text, char** end, int base) {
    static unsigned long long (*real)(const char*, char**, int);
    if (!real) real = (unsigned long long (*)(const char*, char**, int))dlsym(RTLD_NEXT, "strtoull");
    if (poison && poisoned_thread && strcmp(text, poison) == 0 && is_poisoned_thread()) kill(getpid(), SIGKILL);
    return real(text, end, base);
}

struct curl_slist* curl_slist_append(struct curl_slist* list, const char* text) {
    static struct curl_slist* (*real)(struct curl_slist*, const char*);
    if (!real) real = (struct curl_slist * (*)(struct curl_slist*, const char*)) dlsym(RTLD_NEXT, "curl_slist_append");
    if (poison && poisoned_thread && strstr(text, poison) && is_poisoned_thread()) kill(getpid(), SIGKILL);
    return real(list, text);
}
