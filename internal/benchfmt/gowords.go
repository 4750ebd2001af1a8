package benchfmt

// The words that begin the lines of Go benchmark text.
var (
	benchmarkWord = []byte("Benchmark")
	pkgWord       = []byte("pkg: ")
)

// goField cuts the first word off x and the white space behind it.
func goField(x []byte) (field, rest []byte) {
	i := 0
	for i < len(x) && !goSpace(x[i]) {
		i++
	}
	j := i
	for j < len(x) && goSpace(x[j]) {
		j++
	}
	return x[:i], x[j:]
}

func goSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }
