#include "analyzer/export/output.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES (1u << 20)

int gw_output_open(struct gw_output *ret_output, const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return -errno;
    setvbuf(file, NULL, _IOFBF, BUFFER_BYTES);
    *ret_output = (struct gw_output){.file = file, .path = path};
    return 0;
}

void gw_output_write(struct gw_output *output, const void *bytes, size_t size)
{
    errno = 0;
    if (output->status == 0 && fwrite(bytes, 1, size, output->file) != size)
        output->status = errno ? -errno : -EIO;
}

int gw_output_close(struct gw_output *output, int status)
{
    errno = 0;
    /* fclose writes the last of the buffer: a full disk may show only there. */
    if (fclose(output->file) != 0 && output->status == 0)
        output->status = errno ? -errno : -EIO;
    status = output->status ? output->status : status;
    if (status)
        gw_output_remove(output->path);
    return status;
}

void gw_output_remove(const char *path)
{
    struct stat info;
    if (lstat(path, &info) == 0 && S_ISREG(info.st_mode))
        unlink(path);
}
