/*
 * Libraries in the relocatable archive are of the system that built it. Where that has glibc 2.36, three of them ask
 * for these functions, which is all that would keep the archive from running on glibc 2.35.
 * packaging/allow_older_glibc.py lets the loader take them; they find the functions here.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#define EXPORTED __attribute__((visibility("default")))

/* glibc declares them only from 2.36 on. NOLINTBEGIN(readability-redundant-declaration) */
EXPORTED void arc4random_buf(void *bytes, size_t size);
EXPORTED uint32_t arc4random(void);
/* NOLINTEND(readability-redundant-declaration) */

void arc4random_buf(void *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t got = getrandom((char *)bytes + at, size - at, 0);
        at += got > 0 ? (size_t)got : 0;
    }
}

uint32_t arc4random(void)
{
    uint32_t number;
    arc4random_buf(&number, sizeof(number));
    return number;
}
