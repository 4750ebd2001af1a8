package benchfmt

import (
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// decode gives r as UTF-8: a byte order mark is taken off, UTF-16 (as a
// redirect in PowerShell writes it) is converted. Without a mark, a NUL in one
// of the first two bytes means UTF-16 too, since every format here starts with
// ASCII.
func decode(r io.Reader) io.Reader {
	head := make([]byte, 3)
	n, err := io.ReadFull(r, head)
	head = head[:n]
	if err == nil {
		r = io.MultiReader(bytes.NewReader(head), r)
	} else if err == io.EOF || err == io.ErrUnexpectedEOF {
		r = bytes.NewReader(head)
	} else {
		r = io.MultiReader(bytes.NewReader(head), failed{err})
	}
	switch {
	case n == 3 && head[0] == 0xEF && head[1] == 0xBB && head[2] == 0xBF:
		return skip(r, 3)
	case n >= 2 && head[0] == 0xFF && head[1] == 0xFE:
		return &utf16Reader{r: skip(r, 2), order: binary.LittleEndian}
	case n >= 2 && head[0] == 0xFE && head[1] == 0xFF:
		return &utf16Reader{r: skip(r, 2), order: binary.BigEndian}
	case n >= 2 && head[0] != 0 && head[1] == 0:
		return &utf16Reader{r: r, order: binary.LittleEndian}
	case n >= 2 && head[0] == 0 && head[1] != 0:
		return &utf16Reader{r: r, order: binary.BigEndian}
	}
	return r
}

type failed struct{ err error }

func (f failed) Read([]byte) (int, error) { return 0, f.err }

// skip reads n bytes that are known to be there.
func skip(r io.Reader, n int64) io.Reader {
	if _, err := io.CopyN(io.Discard, r, n); err != nil {
		return failed{err}
	}
	return r
}

// utf16Reader converts UTF-16 to UTF-8. Lone surrogates become U+FFFD.
type utf16Reader struct {
	r     io.Reader
	order binary.ByteOrder
	in    [8192]byte
	have  int    // bytes of in that wait for their other half
	out   []byte // converted, not yet read
	high  rune   // a high surrogate that waits for its low one, or 0
	err   error
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.out) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		u.fill()
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

func (u *utf16Reader) fill() {
	n, err := u.r.Read(u.in[u.have:])
	n += u.have
	out := u.out[:0]
	for i := 0; i+1 < n; i += 2 {
		c := rune(u.order.Uint16(u.in[i:]))
		if u.high != 0 {
			if full := utf16.DecodeRune(u.high, c); full != utf8.RuneError {
				out = utf8.AppendRune(out, full)
				u.high = 0
				continue
			}
			out = utf8.AppendRune(out, utf8.RuneError)
			u.high = 0
		}
		if 0xD800 <= c && c < 0xDC00 {
			u.high = c
			continue
		}
		out = utf8.AppendRune(out, c) // a lone low surrogate becomes U+FFFD
	}
	u.have = n & 1
	if u.have == 1 {
		u.in[0] = u.in[n-1]
	}
	if err != nil {
		if u.high != 0 || u.have == 1 {
			out = utf8.AppendRune(out, utf8.RuneError)
			u.high, u.have = 0, 0
		}
		u.err = err
	}
	u.out = out
}
