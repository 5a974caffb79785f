/* SPDX-License-Identifier: BSD-3-Clause */
/* See dictionary-file.h. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "dictionary-file.h"

/* The bytes of the file and, if it is longer, one more than are allowed.  NULL
 * and errno.  It is not waited for, if it is a FIFO.
 */
static void *
file_read (const char *path, size_t *len)
{
  char *bytes = malloc (DICTIONARY_MAX + 1);
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat st;
  ssize_t n = -1;

  *len = 0;
  if (bytes && fd != -1 && fstat (fd, &st) == 0) {
    if (S_ISREG (st.st_mode))
      while (*len <= DICTIONARY_MAX &&
             (n = read (fd, bytes + *len, DICTIONARY_MAX + 1 - *len)) > 0)
        *len += n;
    else
      errno = S_ISDIR (st.st_mode) ? EISDIR : EINVAL;
  }
  if (fd != -1) {
    int err = errno;

    close (fd);
    errno = err;
  }
  if (n < 0) {
    free (bytes);
    return NULL;
  }
  return bytes;
}

int
dictionary_file_load (const char *path, const char *device, struct store *store)
{
  struct dictionary *dictionary;
  const char *why;
  void *bytes;
  size_t len;
  int r = -1;

  bytes = file_read (path, &len);
  if (bytes == NULL) {
    nbdkit_error ("device %s: dictionary %s cannot be read: %m", device, path);
    return -1;
  }
  r = dictionary_create (bytes, len, store_dictionary_level (store),
                         &dictionary, &why);
  if (r == -EMSGSIZE)
    nbdkit_error ("device %s: dictionary %s: %s%zu bytes are %s; %u to %u are "
                  "allowed",
                  device, path, len > DICTIONARY_MAX ? "more than " : "",
                  len > DICTIONARY_MAX ? len - 1 : len, why, DICTIONARY_MIN,
                  DICTIONARY_MAX);
  else if (r < 0)
    nbdkit_error ("device %s: dictionary %s: %s; 'zstd --train' makes them",
                  device, path, why);
  else {
    r = store_dictionary_add (store, dictionary);
    if (r == 0)
      store_dictionary_keep (store);
    else {
      nbdkit_error ("device %s: dictionary %s cannot be added: %s", device,
                    path,
                    r == -EBUSY ? "pages need all of the 15 there may be"
                                : "there is no memory to save it");
      dictionary_destroy (dictionary);
    }
  }
  free (bytes);
  return r < 0 ? -1 : 0;
}
