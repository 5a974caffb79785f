/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts from people and clients: algorithm_params, export and device names, what
 * is written to recompress.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm-params.h"
#include "export-name.h"
#include "fuzz.h"
#include "stats.h"

#define MUST(cond)                                                             \
  do {                                                                         \
    if (!(cond))                                                               \
      abort ();                                                                \
  } while (0)

static void
params (const char *text)
{
  struct algorithm_params p = {.has_level = false, .level = 42};
  char why[64];
  int r;

  memset (why, 'x', sizeof why);
  r = algorithm_params_parse (text, &p, why, sizeof why);
  MUST (r == 0 || r == -EINVAL);
  MUST (p.has_level || p.level == 42);
  if (r < 0) {
    MUST (!p.has_level);
    MUST (memchr (why, '\0', sizeof why) != NULL);
  }
}

static void
names (const char *text)
{
  struct export_name name;
  char printable[32], *p;
  int r = export_name_parse (text, &name);

  MUST (r == 0 || r == -ENOENT);
  if (r == 0) {
    MUST (device_name_is_valid (name.device));
    /* What was understood is what was written. */
    if (text[0] && !stats_node_by_name (text)) {
      size_t len = strlen (name.device);

      MUST (strncmp (text, name.device, len) == 0);
      MUST (name.node ? text[len] == '/' &&
                          strcmp (text + len + 1, name.node->name) == 0
                      : text[len] == '\0');
    }
  }
  if (device_name_is_valid (text))
    MUST (r == 0 && name.node == NULL && strcmp (name.device, text) == 0);
  export_name_printable (text, printable, sizeof printable);
  for (p = printable; *p; ++p)
    MUST (*p >= ' ' && *p <= '~');
}

static void
recompress (const char *text)
{
  struct chore_order order = {.job = JOB_RECOMPRESS};
  char why[256];
  int r;

  memset (why, 'x', sizeof why);
  r = stats_recompress_parse (text, &order, why, sizeof why);
  MUST (r == 0 || r == -EINVAL);
  MUST (order.max_pages > 0 && order.how.threshold < 4096);
  MUST (!(order.how.which & ~(STORE_RECOMPRESS_IDLE | STORE_RECOMPRESS_HUGE)));
  MUST (r == 0 || memchr (why, '\0', sizeof why) != NULL);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  char *text = malloc (size + 1);

  MUST (text != NULL);
  memcpy (text, data, size);
  text[size] = '\0';
  params (text);
  names (text);
  recompress (text);
  free (text);
  return 0;
}
