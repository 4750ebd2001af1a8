package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// Main is for the first line of a main function. In a program that [Command]
// started inside a sandbox it runs the command and never returns; else it does
// nothing.
func Main() {
	if len(os.Args) < 2 || os.Args[0] != Inside+"/"+programName {
		return
	}
	os.Exit(forward(address, Inside+"/"+socketName, os.Args[1:]))
}

// forward runs argv while connections to the address go on to the socket, and
// gives its exit status as a shell would.
func forward(from, socket string, argv []string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "prbench: the way to the build's network:", err)
		return 126
	}
	ln, err := net.Listen("tcp", from)
	if err != nil {
		return fail(err)
	}
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go join(c, socket)
		}
	}()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return 128 + int(ws.Signal())
		}
		return exit.ExitCode()
	}
	if err != nil {
		return fail(err)
	}
	return 0
}

// join passes bytes between a connection and a new one to the socket, each
// direction to its own end.
func join(c net.Conn, socket string) {
	defer c.Close()
	out, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer out.Close()
	var both sync.WaitGroup
	one := func(to, from net.Conn) {
		_, err := io.Copy(to, from)
		half, ok := to.(interface{ CloseWrite() error })
		if err != nil || !ok || half.CloseWrite() != nil {
			to.Close()
			from.Close()
		}
	}
	both.Go(func() { one(out, c) })
	both.Go(func() { one(c, out) })
	both.Wait()
}
