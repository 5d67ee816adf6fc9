/* limits.h - the bounds of schema/limits.def as constants HOB_LIMIT_<name>. */
#ifndef HOB_LIMITS_H
#define HOB_LIMITS_H

#define LIMIT(name, value, unit, reason) static const unsigned long long HOB_LIMIT_##name = value;
#include "../../schema/limits.def"
#undef LIMIT

#endif
