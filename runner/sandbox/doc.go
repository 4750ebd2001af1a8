// Package sandbox runs one hostile process, a build or a single benchmark run, so that it can neither reach the machine nor outlive
// its run, and tells what became of it.
//
// # What a payload sees
//
// Every [Sandbox.Run] starts a bubblewrap of its own, from outside; no agent of ours is inside. The payload is in fresh user, pid,
// mount, network, IPC, UTS and cgroup namespaces, without capabilities, and cannot make further user namespaces. It is uid and gid 1000
// there, whoever it is on the host. It sees:
//
//   - /usr, and /bin, /sbin, /lib, /lib64 as the host has them, read-only;
//   - in /etc, files that are the same for everyone (linker cache, alternatives, time zone, public certificates) and a passwd, group,
//     hosts and nsswitch.conf written for it;
//   - what [Config].Expose and the binds of its [Command] name;
//   - its tree at [SrcDir], read-only unless [Command].Writable;
//   - a fresh directory of the host at [OutDir] where [Command].Out is set;
//   - /tmp and /dev/shm in memory, new and empty for each run; /proc of its own pid namespace; the harmless devices;
//   - a loopback interface of its own and no other network.
//
// A system call filter closes what namespaces leave open: sockets outside of the network namespace (vsock and the like), io_uring, which
// makes them unseen, and the kernel's key rings. Everything else is allowed.
//
// Its environment is what the Command names and nothing else, its standard input is /dev/null, and no other descriptor reaches it.
//
// # Who it is on the host
//
// A runner that is root drops to [Config].User, without supplementary groups, before bubblewrap starts, and refuses to work without
// one: bubblewrap started by root leaves root's own files within reach. Another runner stays the user that it is. Either way the files
// to be bound must be accessible for that user: directories on the way to them need the search bit for it (0711 is enough). The
// directory of a job belongs to the runner, the tree of a build to the user ([Sandbox.Own] hands it over); a tree that is only measured
// may belong to anybody as long as it is readable.
//
// # Limits
//
// Memory, processes and CPUs are limited by a delegated cgroup v2, else by cgroup v1 hierarchies that the runner may write, else by
// resource limits; [Sandbox.Facts] says which. What runs into a limit is told by [Outcome].LimitHit.
//
// # The gate
//
// A payload begins in a finished sandbox: a shell of the host's waits in it, under all limits, until a line says go, and then becomes the
// payload. So the time of a payload is its own, and not that of making its sandbox, and a sandbox can be made before its turn
// ([Sandbox.Prepare]). Nothing that the payload's author has written is read before the gate.
//
// # The runner's process
//
// While a run lasts, the process that called Run is a child subreaper, so that it can wait for the first process of the payload's
// namespace: when that is reaped, all others are gone, and what they used is known. A root runner needs the capabilities to change
// ids, owners and to kill (CAP_SETUID, CAP_SETGID, CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_KILL) and, for control groups, write access to its own.
//
// # The kind none
//
// [None] is for a person's own code on their own machine ("--sandbox none"): the same interface, a clean environment, an own temporary
// directory, limits as far as the system has them, and an end for the whole process group; no protection.
package sandbox
