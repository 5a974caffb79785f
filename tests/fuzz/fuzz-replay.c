/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a fuzz target on files: those named, or, by `make check', all of
 * $srcdir/corpus/NAME for a program called replay-NAME.
 */
#include <config.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static int
replay (const char *path)
{
  size_t len = 0, room = 1 << 20;
  uint8_t *data = malloc (room);
  FILE *fp = fopen (path, "rb");

  if (fp == NULL || data == NULL) {
    perror (path);
    exit (EXIT_FAILURE);
  }
  len = fread (data, 1, room, fp);
  fclose (fp);
  /* Exactly as long as it is, so that a read beyond is noticed. */
  data = realloc (data, len > 0 ? len : 1);
  printf ("%s: %zu bytes\n", path, len);
  fflush (stdout);
  LLVMFuzzerTestOneInput (data, len);
  free (data);
  return 1;
}

static int
replay_directory (const char *dir)
{
  struct dirent **names;
  int i, n = scandir (dir, &names, NULL, alphasort), files = 0;

  for (i = 0; i < n; ++i) {
    if (names[i]->d_name[0] != '.') {
      size_t len = strlen (dir) + strlen (names[i]->d_name) + 2;
      char *path = malloc (len);

      if (path == NULL)
        abort ();
      snprintf (path, len, "%s/%s", dir, names[i]->d_name);
      files += replay (path);
      free (path);
    }
    free (names[i]);
  }
  if (n >= 0)
    free (names);
  return files;
}

int
main (int argc, char *argv[])
{
  const char *srcdir = getenv ("srcdir"), *name = strrchr (argv[0], '-');
  char dir[4096];
  int i, files = 0;

  for (i = 1; i < argc; ++i)
    files += replay (argv[i]);
  if (argc == 1 && name) {
    snprintf (dir, sizeof dir, "%s/corpus/%s", srcdir ? srcdir : ".", name + 1);
    files = replay_directory (dir);
  }
  if (files == 0) {
    fprintf (stderr, "usage: %s FILE...\n", argv[0]);
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
