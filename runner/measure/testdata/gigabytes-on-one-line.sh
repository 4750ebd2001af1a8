#!/bin/sh
# 3 GB of noise on stdout, one line without newline, then a good row
head -c ${BYTES:-3000000000} /dev/zero | tr "\0" x
printf '\n"old","a_demo.js","n=1",10,1\n'
