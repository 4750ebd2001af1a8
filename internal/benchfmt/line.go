package benchfmt

import (
	"bufio"
	"bytes"
	"io"
)

// maxLine bounds the lines that are read; of a longer one the start is given.
const maxLine = 64 << 10

// A lineReader reads lines of any length in bounded memory.
type lineReader struct {
	r *bufio.Reader
	n int // the number of the present line, from 1
	// cut holds the start of a line longer than maxLine.
	cut [2 * quotedProblem]byte
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, maxLine)}
}

// scan gives the next line without its end, or io.EOF. long tells that the line
// is longer than maxLine and line only its start. The bytes are valid until the
// next call.
func (l *lineReader) scan() (line []byte, long bool, err error) {
	line, err = l.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		l.n++
		n := copy(l.cut[:], line)
		for err == bufio.ErrBufferFull {
			_, err = l.r.ReadSlice('\n')
		}
		if err != nil && err != io.EOF {
			return nil, false, err
		}
		return l.cut[:n], true, nil
	}
	if err != nil && (err != io.EOF || len(line) == 0) {
		return nil, false, err
	}
	l.n++
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'}), false, nil
}
