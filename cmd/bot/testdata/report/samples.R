# Reads samples as Node's compare.R does, and prints of each benchmark its name,
# its improvement and half the width of its 95 % interval, both in per cent of
# the old mean.
dat = read.csv(file("stdin"), strip.white = TRUE)
dat$name = paste(dat$filename, dat$configuration)
for (name in sort(unique(dat$name))) {
  d = dat[dat$name == name, ]
  old = d$rate[d$binary == "old"]
  new = d$rate[d$binary == "new"]
  half = diff(t.test(new, old)$conf.int) / 2
  cat(sprintf("%s %.2f ±%.2f\n", trimws(name), 100 * (mean(new) - mean(old)) / mean(old), 100 * half / mean(old)))
}
