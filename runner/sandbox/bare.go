package sandbox

import (
	"path/filepath"
	"strings"
)

// bareDir is the directory of the host that c.Dir stands for where nothing is bound.
func bareDir(c Command, home string) string {
	switch {
	case c.Tree != "" && within(c.Dir, SrcDir):
		return filepath.Join(c.Tree, strings.TrimPrefix(c.Dir, SrcDir))
	case c.Out != nil && within(c.Dir, OutDir):
		return filepath.Join(c.Out.dir, strings.TrimPrefix(c.Dir, OutDir))
	}
	return filepath.Join(home, strings.TrimPrefix(c.Dir, "/tmp"))
}
