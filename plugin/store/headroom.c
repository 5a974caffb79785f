/* SPDX-License-Identifier: BSD-3-Clause */
/* The limits of the memory cgroups of this process; see headroom.h.
 *
 * Looking costs a few microseconds for each group above, so that one look
 * grants a part of what is left, for a short time.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "headroom.h"
#include "ranked-lock.h"

/* Of a limit, what is left to buffers, stacks and the kernel's own tables. */
#define REST_SHARE 16
#define REST_MIN   (UINT64_C (8) << 20)
#define REST_MAX   (UINT64_C (64) << 20)

/* What one look grants. */
#define GRANT_SHARE 4
#define GRANT_MAX   (UINT64_C (64) << 20)
#define GRANT_MS    50

/* memory.stat takes the kernel long to make. */
#define STAT_MS 100

/* Limits above this are version 1's way to say that there is none. */
#define NO_LIMIT   (UINT64_C (1) << 62)

#define MAX_LEVELS 16

struct version {
  const char *controllers; /* as /proc/self/cgroup has them */
  const char *fs_type;
  const char *option; /* of the mount */
  const char *limit, *used;
  const char *cached[2]; /* keys of memory.stat: what the kernel can drop */
};

static const struct version versions[] = {
  {"memory",
   "cgroup",
   "memory",
   "memory.limit_in_bytes",
   "memory.usage_in_bytes",
   {"total_inactive_file", "total_active_file"}},
  {"",
   "cgroup2",
   NULL,
   "memory.max",
   "memory.current",
   {"inactive_file", "active_file"}},
};

struct level {
  const struct version *version;
  int limit_fd, used_fd, stat_fd;
  uint64_t cached, cached_until; /* bytes, and when to ask again */
};

struct headroom {
  struct ranked_lock lock; /* guards all of this */
  struct level levels[MAX_LEVELS];
  unsigned nr_levels;
  uint64_t granted, granted_until;
};

static uint64_t
now_ms (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC_COARSE, &t);
  return (uint64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The text at the start of a file, as a string. */
static bool
read_text (int fd, char *buf, size_t size)
{
  ssize_t n = pread (fd, buf, size - 1, 0);

  buf[n > 0 ? n : 0] = '\0';
  return n > 0;
}

/* A number, or "max".  What cannot be read is no limit. */
static uint64_t
read_bytes (int fd)
{
  char text[32];

  if (!read_text (fd, text, sizeof text) || text[0] < '0' || text[0] > '9')
    return UINT64_MAX;
  return strtoull (text, NULL, 10);
}

static uint64_t
stat_value (const char *text, const char *key)
{
  size_t len = strlen (key);
  const char *line = text;

  for (; line; line = strchr (line, '\n') ? strchr (line, '\n') + 1 : NULL)
    if (strncmp (line, key, len) == 0 && line[len] == ' ')
      return strtoull (line + len + 1, NULL, 10);
  return 0;
}

/* What the group uses that the kernel can have back: files that it caches. */
static uint64_t
cached_bytes (struct level *l)
{
  char text[4096];

  if (now_ms () >= l->cached_until) {
    l->cached = 0;
    if (read_text (l->stat_fd, text, sizeof text))
      l->cached = stat_value (text, l->version->cached[0]) +
                  stat_value (text, l->version->cached[1]);
    l->cached_until = now_ms () + STAT_MS;
  }
  return l->cached;
}

/* What is left at a level, for someone who wants so much. */
static uint64_t
level_left (struct level *l, uint64_t wanted)
{
  uint64_t limit = read_bytes (l->limit_fd), used, rest;

  if (limit >= NO_LIMIT)
    return UINT64_MAX;
  used = read_bytes (l->used_fd);
  rest = limit / REST_SHARE;
  rest = rest < REST_MIN ? REST_MIN : rest > REST_MAX ? REST_MAX : rest;
  if (limit < rest || used == UINT64_MAX)
    return 0;
  limit -= rest;
  if (used > limit || limit - used < wanted) {
    uint64_t cached = cached_bytes (l);

    used -= cached < used ? cached : used;
  }
  return limit > used ? limit - used : 0;
}

static uint64_t
left_locked (struct headroom *h, uint64_t wanted)
{
  uint64_t left = UINT64_MAX, n;
  unsigned i;

  for (i = 0; i < h->nr_levels; ++i) {
    n = level_left (&h->levels[i], wanted);
    left = n < left ? n : left;
  }
  return left;
}

uint64_t
headroom_left (struct headroom *h)
{
  uint64_t left;

  ranked_lock (&h->lock);
  left = left_locked (h, UINT64_MAX);
  ranked_unlock (&h->lock);
  return left;
}

static bool
take_locked (struct headroom *h, uint64_t bytes)
{
  uint64_t left;

  if (h->granted < bytes || now_ms () >= h->granted_until) {
    left = left_locked (h, bytes);
    h->granted = left / GRANT_SHARE;
    if (h->granted > GRANT_MAX)
      h->granted = GRANT_MAX;
    h->granted_until = now_ms () + GRANT_MS;
    /* As little as that is looked for anew each time. */
    if (h->granted < bytes)
      return left >= bytes;
  }
  h->granted -= bytes;
  return true;
}

bool
headroom_take (struct headroom *h, size_t bytes)
{
  bool r;

  if (h->nr_levels == 0)
    return true;
  ranked_lock (&h->lock);
  r = take_locked (h, bytes);
  ranked_unlock (&h->lock);
  return r;
}

static int
open_in (const char *dir, const char *name)
{
  char *path;
  int fd;

  if (asprintf (&path, "%s/%s", dir, name) == -1)
    return -1;
  fd = open (path, O_RDONLY | O_CLOEXEC);
  free (path);
  return fd;
}

static void
level_close (struct level *l)
{
  if (l->limit_fd >= 0)
    close (l->limit_fd);
  if (l->used_fd >= 0)
    close (l->used_fd);
  if (l->stat_fd >= 0)
    close (l->stat_fd);
}

/* The group of a directory, if it can have a limit. */
static void
level_add (struct headroom *h, const struct version *v, const char *dir)
{
  struct level *l = &h->levels[h->nr_levels];

  if (h->nr_levels == MAX_LEVELS)
    return;
  *l = (struct level){.version = v,
                      .limit_fd = open_in (dir, v->limit),
                      .used_fd = open_in (dir, v->used),
                      .stat_fd = open_in (dir, "memory.stat")};
  if (l->limit_fd >= 0 && l->used_fd >= 0)
    h->nr_levels++;
  else
    level_close (l);
}

/* Whether one of the words of a list with commas is that. */
static bool
has_word (const char *list, const char *word)
{
  size_t len = strlen (word);

  for (; list; list = strchr (list, ',') ? strchr (list, ',') + 1 : NULL)
    if (strncmp (list, word, len) == 0 &&
        (list[len] == ',' || list[len] == '\0'))
      return true;
  return false;
}

static FILE *
open_proc (const char *root, const char *name)
{
  char *path;
  FILE *f;

  if (asprintf (&path, "%s/proc/self/%s", root, name) == -1)
    return NULL;
  f = fopen (path, "re");
  free (path);
  return f;
}

/* Which group of the hierarchy this process is in: "ID:CONTROLLERS:PATH". */
static char *
group_path (const char *root, const struct version *v)
{
  FILE *f = open_proc (root, "cgroup");
  char *line = NULL, *controllers, *path, *found = NULL;
  size_t size = 0;

  if (f == NULL)
    return NULL;
  while (found == NULL && getline (&line, &size, f) > 0) {
    line[strcspn (line, "\n")] = '\0';
    controllers = strchr (line, ':');
    path = controllers ? strchr (controllers + 1, ':') : NULL;
    if (path == NULL)
      continue;
    *path++ = '\0';
    if (has_word (controllers + 1, v->controllers))
      found = strdup (path);
  }
  free (line);
  fclose (f);
  return found;
}

/* Where the hierarchy is mounted, and what part of it: lines are
 * "ID PARENT DEV ROOT POINT OPTIONS [FIELD...] - TYPE SOURCE SUPEROPTIONS".
 */
static bool
mount_point (const char *root, const struct version *v, char **part,
             char **point)
{
  FILE *f = open_proc (root, "mountinfo");
  char *line = NULL, *dash;
  char fs_type[32], options[512];
  size_t size = 0;
  bool found = false;

  *part = *point = NULL;
  while (f && !found && getline (&line, &size, f) > 0) {
    dash = strstr (line, " - ");
    if (dash == NULL ||
        sscanf (dash, " - %31s %*s %511s", fs_type, options) != 2 ||
        strcmp (fs_type, v->fs_type) != 0 ||
        (v->option && !has_word (options, v->option)))
      continue;
    found = sscanf (line, "%*s %*s %*s %ms %ms", part, point) == 2;
  }
  free (line);
  if (f)
    fclose (f);
  return found;
}

/* All groups from that of this process up to the mount point. */
static void
levels_find (struct headroom *h, const char *root, const struct version *v)
{
  char *group = group_path (root, v), *part = NULL, *point = NULL;
  char *dir = NULL, *slash;
  const char *below = group;
  size_t top, len;

  if (group && mount_point (root, v, &part, &point)) {
    /* In a container, only a part of the hierarchy is to be seen. */
    len = strlen (part);
    if (len > 1 && strncmp (group, part, len) == 0 &&
        (group[len] == '/' || group[len] == '\0'))
      below += len;
    top = strlen (root) + strlen (point);
    if (asprintf (&dir, "%s%s%s", root, point,
                  strcmp (below, "/") == 0 ? "" : below) == -1)
      dir = NULL;
    for (;;) {
      if (dir == NULL)
        break;
      level_add (h, v, dir);
      slash = strrchr (dir, '/');
      if (strlen (dir) <= top || slash == NULL)
        break;
      *slash = '\0';
    }
  }
  free (dir);
  free (point);
  free (part);
  free (group);
}

int
headroom_create (const char *root, struct headroom **out)
{
  struct headroom *h = calloc (1, sizeof *h);
  size_t i;

  if (h == NULL)
    return -ENOMEM;
  ranked_lock_init (&h->lock, RANK_HEADROOM);
  for (i = 0; i < sizeof versions / sizeof versions[0]; ++i)
    levels_find (h, root, &versions[i]);
  *out = h;
  return 0;
}

void
headroom_destroy (struct headroom *h)
{
  unsigned i;

  if (h == NULL)
    return;
  for (i = 0; i < h->nr_levels; ++i)
    level_close (&h->levels[i]);
  ranked_lock_fini (&h->lock);
  free (h);
}
