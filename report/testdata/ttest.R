# Reads lines "case,side,value" and prints Welch's t-test of each case as R has
# it, with all digits: case, p, df, half-width of the 95 % interval over |old|.
dat <- read.csv(file("stdin"), header = FALSE, col.names = c("case", "side", "value"),
                colClasses = c("character", "character", "numeric"))
for (part in split(dat, dat$case)) {
  old <- part$value[part$side == "old"]
  new <- part$value[part$side == "new"]
  w <- t.test(new, old)
  half <- qt(0.975, w$parameter) * w$stderr / abs(mean(old))
  cat(sprintf("%s %.17g %.17g %.17g\n", part$case[1], w$p.value, w$parameter, half))
}
