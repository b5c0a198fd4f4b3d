/* SPDX-License-Identifier: MIT */
/* The files of the glossary. */
#ifndef MT_REPORT_GLOSSARY_H
#define MT_REPORT_GLOSSARY_H

#include <memtool/explain.h>

extern const struct mt_topic mt_glossary_memory[];
enum { GLOSSARY_MEMORY_N = 9 };
extern const struct mt_topic mt_glossary_allocator[];
enum { GLOSSARY_ALLOCATOR_N = 20 };
extern const struct mt_topic mt_glossary_trouble[];
enum { GLOSSARY_TROUBLE_N = 9 };
extern const struct mt_topic mt_glossary_verdicts[];
enum { GLOSSARY_VERDICTS_N = 9 };
extern const struct mt_topic mt_glossary_files[];
enum { GLOSSARY_FILES_N = 11 };
extern const struct mt_topic mt_glossary_said[];
enum { GLOSSARY_SAID_N = 1 };

#endif
