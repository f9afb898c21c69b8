/* The compressed archive that a bundle is, with checksums of its members. */
#ifndef GW_CLI_ARCHIVE_H
#define GW_CLI_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>

/* The members of a bundle that hold the recording: as a folder, or of an imported trace as a database. */
#define GW_BUNDLE_RUN "run"
#define GW_BUNDLE_DATABASE "trace.sqlite"

struct gw_archive;

/* True when the name of path ends as an archive that can be written: .tar.zst, .tar.gz, .tar.xz or .tar. */
bool gw_archive_is_known(const char *path);

/* Starts the archive, replacing a file of that name; members lie in a folder named as the file without its ending. The
 * functions return 0 or a negative errno; *ret_archive is to be finished in any case once it is set. */
int gw_archive_create(const char *path, struct gw_archive **ret_archive);

/* Adds a member of size bytes, or the file `source` with what it has. */
int gw_archive_add_bytes(struct gw_archive *archive, const char *name, const void *bytes, size_t size);
int gw_archive_add_file(struct gw_archive *archive, const char *name, const char *source);

/* Adds all regular files below a folder, or the one file, as name/…; other kinds of files are left out. */
int gw_archive_add_tree(struct gw_archive *archive, const char *name, const char *source);

/* With status 0 adds SHA256SUMS and closes; otherwise, or when that fails, leaves a file of that name as it
 * was. Returns the status. */
int gw_archive_finish(struct gw_archive *archive, int status);

#endif
