/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_JSON_SCHEMA_H
#define TLSKIT_TESTS_JSON_SCHEMA_H

#include <jansson.h>

/* Holds JSON against a schema, as far as those in docs/schema go: type, enum,
 * const, pattern, minLength, minimum, items, minItems, maxItems, uniqueItems,
 * properties, required, propertyNames, additionalProperties, $ref into $defs. A
 * schema that says something else fails. -1 with what is wrong and where. */
int json_schema_check(json_t *schema, json_t *v, char *wrong, size_t size);

#endif
