# Reads samples with the column types that Node's compare.R gives, and prints the
# name and the value of each.
dat = read.csv(file("stdin"), strip.white = TRUE,
               colClasses = c("character", "character", "character", "numeric", "numeric"))
cat(paste(dat$filename, dat$configuration, dat$rate, sep = "\t"), sep = "\n")
