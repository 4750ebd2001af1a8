package benchfmt

import (
	"bytes"
	"io"
	"math"

	"github.com/prbench/prbench/internal/job"
)

// nodeSource reads the lines that Node core's benchmark/common.js prints for a
// process of its own, one for each configuration:
//
//	process/bench-env.js operation="get" n=100000: 1,204,551.25
//
// A configuration is made of " key=<JSON>" and may hold colons, spaces, commas
// and quotes. The rate is what a JavaScript number becomes, with commas between
// thousands. A line is taken for a result when it ends so and its start is the
// name of a script or has a configuration; what else a benchmark prints is not
// looked at.
type nodeSource struct {
	env    *env
	lines  *lineReader
	unit   string
	better job.Better
	number []byte
}

func newNode(r io.Reader, e *env) *nodeSource {
	n := &nodeSource{env: e, lines: newLineReader(r), unit: e.opt.Unit}
	switch {
	case n.unit != "":
		n.better = e.opt.Better
	case e.opt.Better == job.Lower:
		n.better = job.Lower
	default:
		n.unit = "ops/s"
	}
	return n
}

func (n *nodeSource) next(rec *Record) error {
	for {
		line, long, err := n.lines.scan()
		if err != nil {
			return err
		}
		if long {
			if isScript(firstWord(line)) {
				n.env.problems.add(n.lines.n, line, "a result longer than 64 KiB")
			}
			continue
		}
		// A progress bar goes back to the start of its line.
		if i := bytes.LastIndexByte(line, '\r'); i >= 0 {
			line = line[i+1:]
		}
		if n.result(rec, line) {
			return nil
		}
		if n.env.names.tooMany {
			return ErrTooMany
		}
	}
}

// result reads one line and tells whether it is a result.
func (n *nodeSource) result(rec *Record, line []byte) bool {
	i := bytes.LastIndex(line, []byte(": "))
	if i <= 0 {
		return false
	}
	name, printed := line[:i], bytes.TrimSpace(line[i+2:])
	e := n.env.names.raw[string(name)]
	if e == nil {
		file, config := splitNodeName(name)
		if len(config) == 0 && !isScript(file) {
			return false
		}
	}
	v, ok := n.rate(printed)
	if !ok {
		if isScript(firstWord(line)) {
			n.env.problems.add(n.lines.n, line, "no rate behind the last colon")
		}
		return false
	}
	if e == nil {
		file, config := splitNodeName(name)
		if n.env.opt.limit > 0 && (len(file) > MaxName || len(config) > MaxName) {
			n.env.problems.add(n.lines.n, line, "a name longer than 4096 bytes")
			return false
		}
		e = n.env.names.entry(string(file), string(config))
		n.env.names.remember(name, e)
	}
	s := n.env.names.in(e, n.unit, n.better)
	if s.dropped || n.env.names.tooMany {
		return false
	}
	rec.Side, rec.Pair, rec.Position, rec.Line = n.env.opt.Side, -1, -1, n.lines.n
	rec.set(s)
	if s.scale != 0 {
		v = s.scale.apply(v)
	}
	rec.value(v, printed)
	return true
}

// rate reads a number as common.js prints it. Commas must stand where thousands
// end.
func (n *nodeSource) rate(b []byte) (float64, bool) {
	switch string(b) {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	if len(b) == 0 || len(b) > 64 || b[len(b)-1] < '0' || b[len(b)-1] > '9' {
		return 0, false
	}
	if c := b[0]; c != '-' && (c < '0' || c > '9') {
		return 0, false
	}
	if bytes.IndexByte(b, ',') < 0 {
		return parseNumber(b, 0)
	}
	whole, rest := b, []byte(nil)
	if i := bytes.IndexByte(b, '.'); i >= 0 {
		whole, rest = b[:i], b[i:]
	}
	n.number = n.number[:0]
	if whole[0] == '-' {
		n.number, whole = append(n.number, '-'), whole[1:]
	}
	for i, group := 0, []byte(nil); whole != nil; i++ {
		group, whole, _ = bytes.Cut(whole, []byte{','})
		if len(group) > 3 || len(group) == 0 || i > 0 && len(group) != 3 || !allDigits(group) {
			return 0, false
		}
		n.number = append(n.number, group...)
	}
	return parseNumber(append(n.number, rest...), 0)
}

func allDigits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// splitNodeName cuts "file key=value …" before its first key.
func splitNodeName(name []byte) (file, config []byte) {
	for i := 1; i < len(name); i++ {
		if name[i-1] != ' ' {
			continue
		}
		for j := i; j < len(name) && name[j] != ' '; j++ {
			if name[j] == '=' && j > i {
				return name[:i-1], name[i:]
			}
			if name[j] == '"' || name[j] == '\'' {
				break
			}
		}
	}
	return name, nil
}

func firstWord(line []byte) []byte {
	word, _, _ := bytes.Cut(line, []byte{' '})
	return bytes.TrimSuffix(word, []byte{':'})
}

var scriptEndings = [][]byte{[]byte(".js"), []byte(".mjs"), []byte(".cjs"), []byte(".ts"), []byte(".mts"), []byte(".cts")}

func isScript(name []byte) bool {
	for _, e := range scriptEndings {
		if bytes.HasSuffix(name, e) && len(name) > len(e) {
			return true
		}
	}
	return false
}
