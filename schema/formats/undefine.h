/* Included at the end of every table of this folder, but not between those of packed.def. */
#ifndef HOB_TABLES
#undef KIND
#undef ENUM
#undef PROPERTY
#undef RECORD
#undef FIELD
#undef ARRAY
#undef RECORD_END
#undef SECTION
#undef VERTEX_FORMAT
#endif
