package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// checkListen accepts host:port, with an empty host for all addresses and port
// 0 for a free one.
func checkListen(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("want host:port such as 127.0.0.1:8080, got %s", quoted(s))
	}
	return nil
}

// checkURL checks the address at to, and takes the slash off its end. Plain
// http is for this machine only.
func checkURL(to *string, schemes ...string) func() error {
	return func() error {
		u, err := url.Parse(*to)
		if err != nil || u.Hostname() == "" || !slices.Contains(schemes, u.Scheme) || u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("want an address such as https://bench.example.org, got %s", quoted(withoutUser(*to)))
		}
		if u.User != nil {
			return errors.New("want an address without a user or password in it")
		}
		if u.Scheme == "http" && !isLoopback(u.Hostname()) {
			return fmt.Errorf("want https; plain http is for this machine (127.0.0.1) only, got %s", quoted(*to))
		}
		*to = strings.TrimRight(*to, "/")
		return nil
	}
}

// checkForge accepts the address of a forge: its host, and the port where it has
// one of its own.
func checkForge(s string) error {
	if err := checkURL(&s, "https", "http")(); err != nil {
		return err
	}
	if u, err := url.Parse(s); err != nil || u.Path != "" {
		return fmt.Errorf("want the forge's host alone such as https://github.com, got %s", quoted(s))
	}
	return nil
}

// withoutUser cuts what may be a password out of an address that goes into a
// message.
func withoutUser(s string) string {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		return "…" + s[i:]
	}
	return s
}

// checkServers accepts NATS addresses with commas between them.
func checkServers(s string) error {
	for one := range strings.SplitSeq(s, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Hostname() == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			return fmt.Errorf("want nats://host:4222, tls://host:4222 or wss://host/runner, got %s", quoted(withoutUser(one)))
		}
		if u.User != nil {
			return errors.New("want an address without a user or password in it; keys are files")
		}
	}
	return nil
}

// clearServers lists the hosts of addresses that are reached over a network
// without TLS.
func clearServers(s string) []string {
	var out []string
	for one := range strings.SplitSeq(s, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err == nil && (u.Scheme == "nats" || u.Scheme == "ws") && !isLoopback(u.Hostname()) {
			out = append(out, u.Host)
		}
	}
	return out
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
