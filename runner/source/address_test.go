package source

import (
	"net/url"
	"strings"
	"testing"
)

func TestASubmodulesAddressIsAlwaysTheForgesOwn(t *testing.T) {
	f := &forgeModules{forge: forge{scheme: "https", host: "forge.test"}, base: "https://forge.test/acme/up.git"}
	for raw, want := range map[string]string{
		"../dep.git":                       "https://forge.test/acme/dep.git",
		"./dep":                            "https://forge.test/acme/up.git/dep",
		"../../other/dep":                  "https://forge.test/other/dep",
		"../../../../../x":                 "https://forge.test/x",
		"https://forge.test/o/dep":         "https://forge.test/o/dep",
		"http://forge.test/o/dep":          "https://forge.test/o/dep",
		"https://me:pw@forge.test/o/dep":   "https://forge.test/o/dep",
		"ssh://git@forge.test/o/dep.git":   "https://forge.test/o/dep.git",
		"git@forge.test:o/dep.git":         "https://forge.test/o/dep.git",
		"git://forge.test/o/dep":           "https://forge.test/o/dep",
		"https://FORGE.test/o/dep":         "https://forge.test/o/dep",
		"https://forge.test.evil.test/o/d": "",
		"https://forge.test@evil.test/o/d": "",
		"git@evil.test:forge.test":         "",
		"ext::sh -c true forge.test:x":     "",
		"--upload-pack=x":                  "",
		"/etc":                             "",
		"":                                 "",
	} {
		got, err := f.address(raw)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q gives %q, %v; want %q", raw, got, err, want)
		}
	}
}

func FuzzSubmoduleAddressesStayOnTheForge(f *testing.F) {
	for _, s := range []string{"../x", "git@forge.test:x", "https://forge.test/x?y#z", "ssh://forge.test:22/x", "http://forge.test\\@evil.test/"} {
		f.Add(s)
	}
	m := &forgeModules{forge: forge{scheme: "https", host: "forge.test"}, base: "https://forge.test/acme/up.git"}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := m.address(raw)
		if err != nil {
			return
		}
		u, err := url.Parse(got)
		if err != nil || u.Host != "forge.test" || u.Scheme != "https" || u.User != nil || !strings.HasPrefix(got, "https://forge.test/") {
			t.Errorf("%q gives %q", raw, got)
		}
	})
}

func FuzzPointersAreReadWhole(f *testing.F) {
	f.Add([]byte("version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0", 64) + "\nsize 104857600\n"))
	f.Add([]byte("version https://git-lfs.github.com/spec/v1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		oid, size, ok := parsePointer(data)
		if ok && (len(oid) != 64 || strings.ContainsAny(oid, "/.") || size < 0) {
			t.Errorf("%q gives %q, %d", data, oid, size)
		}
	})
}

func FuzzTreeListings(f *testing.F) {
	f.Add([]byte("100644 blob 0123\ta b\x00120000 blob 4567\tc\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		entries, err := parseEntries(out)
		if err == nil && len(entries) > strings.Count(string(out), "\x00")+1 {
			t.Errorf("%q gives %d entries", out, len(entries))
		}
	})
}
