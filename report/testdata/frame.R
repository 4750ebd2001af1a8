# Prints data frames of strings as R lays them out. The input has, for each
# frame, the column heads in one line and a row in each further one, fields
# between tabs, and ends each frame with a line "====", which is printed too.
lines = readLines(file("stdin"), encoding = "UTF-8")
options(width = 200)
unescape = function(s) gsub("<NL>", "\n", gsub("<TAB>", "\t", s, fixed = TRUE), fixed = TRUE)
frame = c()
for (line in lines) {
  if (line != "====") {
    frame = c(frame, line)
    next
  }
  rows = strsplit(frame, "\t", fixed = TRUE)
  head = rows[[1]]
  rows = rows[-1]
  cells = lapply(seq_along(head), function(i) vapply(rows, function(r) r[i + 1], ""))
  names(cells) = head
  d = data.frame(cells, check.names = FALSE)
  row.names(d) = vapply(rows, function(r) unescape(r[1]), "")
  print(d)
  cat("====\n")
  frame = c()
}
