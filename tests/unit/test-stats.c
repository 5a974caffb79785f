/* SPDX-License-Identifier: BSD-3-Clause */
/* The texts about a device: to the byte what the kernel prints for zram and
 * zsmalloc, and the same figures as JSON and for people.
 */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "metrics.h"
#include "stats.h"
#include "store-fixture.h"

struct stats_fixture {
  struct store_fixture f;
  struct stats_device device;
};

/* A device with something of every kind in it. */
static void
init (struct stats_fixture *s)
{
  struct rng rng = rng_make (1);
  uint64_t i;

  store_fixture_init (&s->f, (struct store_params){.nr_pages = 4096,
                                                   .limit_pages = 2000,
                                                   .codec = CODEC_ZSTD});
  for (i = 0; i < 1000; ++i)
    put_pages (s->f.store, i, 1, i % PAGE_KINDS, &rng);
  for (i = 0; i < 1000; i += 3)
    trim_pages (s->f.store, i, 1);
  store_compact (s->f.store);
  trim_pages (s->f.store, 500, 50);
  s->device = (struct stats_device){.name = "default",
                                    .store = s->f.store,
                                    .comp_algorithm = "zstd",
                                    .level = 3};
}

static void
mm_stat_is_the_line_of_zram (void **state)
{
  struct stats_fixture s;
  struct store_stats now;
  char want[400], *text;

  (void) state;
  init (&s);
  now = store_stats_now (s.f.store);
  /* drivers/block/zram/zram_drv.c, mm_stat_show */
  snprintf (
    want, sizeof want, "%8llu %8llu %8llu %8lu %8ld %8llu %8lu %8llu %8llu\n",
    (unsigned long long) now.orig_data_size,
    (unsigned long long) now.compr_data_size,
    (unsigned long long) now.mem_used_total, (unsigned long) now.mem_limit,
    (long) now.mem_used_max, (unsigned long long) now.same_pages,
    (unsigned long) now.pages_compacted, (unsigned long long) now.huge_pages,
    (unsigned long long) now.huge_pages_since);
  text = stats_mm_stat (&s.device);
  assert_string_equal (text, want);
  print_message ("%s", text);
  assert_true (now.same_pages > 0 && now.huge_pages > 0 &&
               now.pages_compacted > 0);
  free (text);
  store_fixture_fini (&s.f);
}

static void
io_stat_is_the_line_of_zram (void **state)
{
  struct stats_fixture s;
  struct store_stats now;
  char want[400], *text;

  (void) state;
  init (&s);
  now = store_stats_now (s.f.store);
  /* drivers/block/zram/zram_drv.c, io_stat_show */
  snprintf (want, sizeof want, "%8llu %8llu %8llu %8llu\n",
            (unsigned long long) now.failed_reads,
            (unsigned long long) now.failed_writes,
            (unsigned long long) now.invalid_io,
            (unsigned long long) now.notify_free);
  text = stats_io_stat (&s.device);
  assert_string_equal (text, want);
  assert_true (now.notify_free > 0);
  free (text);
  store_fixture_fini (&s.f);
}

static void
classes_has_the_columns_of_zsmalloc_and_a_total_that_adds_up (void **state)
{
  /* mm/zsmalloc.c, zs_stats_size_show */
  static const char header[] =
    " class  size       10%       20%       30%       40%       50%       60% "
    "      70%       80%       90%       99%      100% obj_allocated   "
    "obj_used pages_used pages_per_zspage freeable\n";
  struct stats_fixture s;
  char *text, *line, *save = NULL;
  unsigned long total[15] = {0}, v[18];
  int rows = 0, g, n, at = 0;

  (void) state;
  init (&s);
  text = stats_classes (&s.device);
  assert_int_equal (strncmp (text, header, strlen (header)), 0);
  /* A blank line before the total. */
  assert_non_null (strstr (text, "\n\n Total "));

  for (line = strtok_r (text + strlen (header), "\n", &save);
       line && strncmp (line, " Total", 6) != 0;
       line = strtok_r (NULL, "\n", &save)) {
    const char *p = line;
    struct zs_class_stats c;

    for (n = 0; n < 18; ++n) {
      assert_int_equal (sscanf (p, " %lu%n", &v[n], &at), 1);
      p += at;
    }
    assert_string_equal (p, "");
    assert_int_equal (strlen (line), strlen (header) - 1);
    assert_true (store_class_stats (s.f.store, v[0], &c));
    assert_int_equal (v[1], c.size);
    for (g = 0; g < ZS_NR_GROUPS; ++g)
      assert_int_equal (v[2 + g], c.groups[g]);
    assert_int_equal (v[13], c.obj_allocated);
    assert_int_equal (v[14], c.obj_used);
    assert_int_equal (v[15], c.pages_used);
    assert_int_equal (v[16], c.pages_per_zspage);
    assert_int_equal (v[17], c.freeable);
    for (n = 0; n < 14; ++n)
      total[n] += v[2 + n];
    total[14] += c.freeable;
    rows++;
  }
  assert_int_equal (rows, 123); /* at chain 8 */
  assert_non_null (line);
  assert_int_equal (strlen (line), strlen (header) - 1);
  line += strlen (" Total") + 6;
  for (n = 0; n < 15; ++n) {
    unsigned long value;

    assert_int_equal (sscanf (line, " %lu%n", &value, &at), 1);
    assert_int_equal (value, total[n]);
    line += at;
  }
  assert_int_equal (total[13] * PAGE,
                    store_stats_now (s.f.store).mem_used_total);
  free (text);
  store_fixture_fini (&s.f);
}

static void
json_has_every_metric_with_its_value (void **state)
{
  struct stats_fixture s;
  struct store_stats now;
  const struct metric *m;
  json_t *root, *value;
  char *text;

  (void) state;
  init (&s);
  now = store_stats_now (s.f.store);
  text = stats_json (&s.device);
  assert_int_equal (text[strlen (text) - 1], '\n');
  root = json_loads (text, JSON_REJECT_DUPLICATES, NULL);
  assert_non_null (root);
  assert_string_equal (json_string_value (json_object_get (root, "device")),
                       "default");
  assert_string_equal (
    json_string_value (json_object_get (root, "comp_algorithm")), "zstd");
  assert_int_equal (json_integer_value (json_object_get (root, "level")), 3);
  for (m = metrics; m->name; ++m) {
    value = json_object_get (
      json_object_get (root, metric_group_name (m->group)), m->name);
    assert_true (json_is_integer (value));
    assert_int_equal (json_integer_value (value), metric_value (m, &now));
  }
  json_decref (root);
  free (text);
  store_fixture_fini (&s.f);
}

static void
every_metric_is_described_once_and_in_order (void **state)
{
  static const char *const mm_stat[] = {
    "orig_data_size",  "compr_data_size", "mem_used_total",
    "mem_limit",       "mem_used_max",    "same_pages",
    "pages_compacted", "huge_pages",      "huge_pages_since"};
  static const char *const io_stat[] = {"failed_reads", "failed_writes",
                                        "invalid_io", "notify_free"};
  const struct metric *m, *other;
  bool seen[sizeof (struct store_stats) / 8] = {false};
  size_t n;

  (void) state;
  for (m = metrics; m->name; ++m) {
    assert_true (strlen (m->help) > 10);
    assert_true (m->offset % 8 == 0 && m->offset < sizeof (struct store_stats));
    assert_non_null (metric_unit_name (m->unit));
    assert_non_null (metric_group_name (m->group));
    for (other = metrics; other < m; ++other) {
      assert_string_not_equal (other->name, m->name);
      assert_int_not_equal (other->offset, m->offset);
      assert_true (other->group <= m->group);
    }
    seen[m->offset / 8] = true;
  }
  /* No figure is left out but the one that only the housekeeper needs, and one
   * that is told in another unit.
   */
  for (n = 0; n < NELEM (seen); ++n)
    assert_int_equal (seen[n],
                      n != offsetof (struct store_stats, excess_stock) / 8 &&
                        n != offsetof (struct store_stats, recompress_ns) / 8);
  for (n = 0; n < NELEM (mm_stat); ++n)
    assert_string_equal (metrics[n].name, mm_stat[n]);
  for (n = 0; n < NELEM (io_stat); ++n)
    assert_string_equal (metrics[NELEM (mm_stat) + n].name, io_stat[n]);
}

static void
the_description_is_one_short_line (void **state)
{
  static const uint64_t limits[] = {0, 1, 2000, UINT64_C (1) << 32};
  struct stats_fixture s;
  size_t i;

  (void) state;
  init (&s);
  for (i = 0; i < NELEM (limits); ++i) {
    char *text;

    store_set_mem_limit (s.f.store, limits[i] * PAGE);
    text = stats_describe (&s.device);
    print_message ("%s\n", text);
    assert_true (strlen (text) < 4096);
    assert_null (strchr (text, '\n'));
    assert_non_null (strstr (text, "orig_data_size="));
    assert_non_null (strstr (text, "zstd"));
    free (text);
  }
  store_fixture_fini (&s.f);
}

static void
an_unwritten_device_has_texts_too (void **state)
{
  struct store_fixture f;
  struct stats_device device = {
    .name = "x", .comp_algorithm = "lz4", .level = 1};
  const struct stats_node *node;
  char *text;

  (void) state;
  store_fixture_init (&f, (struct store_params){0});
  device.store = f.store;
  text = stats_mm_stat (&device);
  assert_string_equal (text, "       0        0        0        0        0   "
                             "     0        0        0        0\n");
  free (text);
  text = stats_describe (&device);
  assert_non_null (text);
  free (text);
  for (node = stats_nodes; node->name; ++node) {
    if (node->read == NULL)
      continue;
    text = node->read (&device);
    assert_non_null (text);
    /* block_state has a line for each stored page: none. */
    assert_int_equal (strlen (text) == 0,
                      strcmp (node->name, "block_state") == 0);
    free (text);
  }
  assert_int_equal (store_stats_now (f.store).mem_resident, 0);
  store_fixture_fini (&f);
}

static void
nodes_are_found_by_their_exact_name (void **state)
{
  const struct stats_node *node;

  (void) state;
  for (node = stats_nodes; node->name; ++node)
    assert_ptr_equal (stats_node_by_name (node->name), node);
  assert_null (stats_node_by_name (""));
  assert_null (stats_node_by_name ("mm_sta"));
  assert_null (stats_node_by_name ("mm_stat "));
  assert_null (stats_node_by_name ("MM_STAT"));
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (mm_stat_is_the_line_of_zram),
    cmocka_unit_test (io_stat_is_the_line_of_zram),
    cmocka_unit_test (
      classes_has_the_columns_of_zsmalloc_and_a_total_that_adds_up),
    cmocka_unit_test (json_has_every_metric_with_its_value),
    cmocka_unit_test (every_metric_is_described_once_and_in_order),
    cmocka_unit_test (the_description_is_one_short_line),
    cmocka_unit_test (an_unwritten_device_has_texts_too),
    cmocka_unit_test (nodes_are_found_by_their_exact_name),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
