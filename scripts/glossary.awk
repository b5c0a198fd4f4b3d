# SPDX-License-Identifier: MIT
# Makes C of src/verbs/explain/glossary.txt: the table that src/verbs/explain/explain.h declares.
#   awk -f scripts/glossary.awk glossary.txt > glossary.c
# "@group TITLE" begins a group, "@topic NAME" a topic; "@also", "@summary" and "@see" belong to it, other lines
# are its text. What stands before the first group says what the file is.
function quoted(s) {
    gsub(/\\/, "&&", s)
    gsub(/"/, "\\\"", s)
    return "\"" s "\""
}
function words(list, n, i, w, out) {
    n = split(list, w, ", ")
    for (i = 1; i <= n; i++) out = out quoted(w[i]) ", "
    return out "NULL"
}
function end_topic() {
    if (topic == "") return
    if (summary == "" || text == "") fail("@topic " topic " has no summary or no text")
    printf "static const char *const text_%d[] = {\n%sNULL};\n", n_topics, text
    printf "static const char *const see_%d[] = {%s};\n", n_topics, words(see)
    topics = topics sprintf("    {%s, {%s}, %s, text_%d, see_%d},\n", quoted(topic), words(also), quoted(summary),
                            n_topics, n_topics)
    n_topics++
    topic = also = summary = see = text = blanks = ""
}
function end_group() {
    end_topic()
    if (group == "") return
    printf "static const struct mt_topic group_%d[] = {\n%s};\n\n", n_groups, topics
    groups = groups sprintf("    {%s, group_%d, MT_COUNT(group_%d)},\n", quoted(group), n_groups, n_groups)
    n_groups++
    topics = ""
}
function fail(why) {
    printf "%s:%d: %s\n", FILENAME, FNR, why > "/dev/stderr"
    failed = 1
    exit 1
}
BEGIN { n_topics = n_groups = 0; print "#include \"verbs/explain/explain.h\"\n" }
/^@group / { end_group(); group = substr($0, 8); next }
group == "" { next }
/^@topic / { end_topic(); topic = substr($0, 8); next }
/^@also / { also = substr($0, 7); next }
/^@summary / { summary = substr($0, 10); next }
/^@see / { see = substr($0, 6); next }
/^@/ { fail("unknown word " $1) }
/^$/ { blanks = blanks (text == "" ? "" : "    \"\",\n"); next } # none at the beginning and the end
{
    if (topic == "") fail("text outside of a topic")
    text = text blanks "    " quoted($0) ",\n"
    blanks = ""
}
END {
    if (failed) exit 1
    end_group()
    printf "const struct mt_topic_group MT_TOPIC_GROUPS[] = {\n%s};\n", groups
    print "const size_t MT_TOPIC_GROUPS_N = MT_COUNT(MT_TOPIC_GROUPS);"
}
