# Prints a data frame of strings as R lays it out. The input has the column
# heads in its first line and a row in each further one, fields between tabs.
rows = strsplit(readLines(file("stdin"), encoding = "UTF-8"), "\t", fixed = TRUE)
head = rows[[1]]
rows = rows[-1]
unescape = function(s) gsub("<NL>", "\n", gsub("<TAB>", "\t", s, fixed = TRUE), fixed = TRUE)
cells = lapply(seq_along(head), function(i) vapply(rows, function(r) r[i + 1], ""))
names(cells) = head
d = data.frame(cells, check.names = FALSE)
row.names(d) = vapply(rows, function(r) unescape(r[1]), "")
options(width = 200)
print(d)
