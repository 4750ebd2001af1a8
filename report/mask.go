package report

import "github.com/prbench/prbench/internal/hostile"

// Mask, Visible and VisibleLog are those of internal/hostile, through which all
// foreign text in a report passes.

// Mask replaces whatever in s looks like a credential by "***".
func Mask(s string) string { return hostile.Mask(s) }

// Visible makes one line of foreign text (a name, a ref, a title) safe to print.
func Visible(s string) string { return hostile.Visible(s) }

// VisibleLog makes a log safe to print.
func VisibleLog(s string) string { return hostile.VisibleLog(s) }
