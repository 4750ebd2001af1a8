# Reads benchmark,binary,value rows and prints what R's own t.test says of each
# benchmark, for a comparison with the report's text table.
d = read.csv(file("stdin"), colClasses = c("character", "character", "numeric"))
for (b in sort(unique(d$benchmark), method = "radix")) {
  old = d$value[d$benchmark == b & d$binary == "old"]
  new = d$value[d$benchmark == b & d$binary == "new"]
  w = t.test(new, old)
  half = function(risk) qt(1 - risk / 2, w$parameter) * w$stderr / mean(old) * 100
  stars = if (w$p.value < .001) "***" else if (w$p.value < .01) "**" else if (w$p.value < .05) "*" else "-"
  cat(sprintf("%s %s %.2f %.2f %.2f %.2f\n", b, stars, (mean(new) / mean(old) - 1) * 100, half(.05), half(.01), half(.001)))
}
