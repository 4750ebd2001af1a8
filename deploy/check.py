#!/usr/bin/python3
"""The part of check.sh that reads files: each is parsed, and what one file says
about another is held against it."""
import configparser
import glob
import json
import os
import re
import sys

import yaml

wrong = []


def say(path, text):
    wrong.append(f"{path}: {text}")


class Strict(yaml.SafeLoader):
    """Refuses a key that stands twice, which YAML's loader takes silently."""


def mapping(loader, node):
    keys = [loader.construct_object(k) for k, _ in node.value]
    for k in keys:
        if keys.count(k) > 1:
            raise yaml.constructor.ConstructorError(None, None, f"{k} stands twice", node.start_mark)
    return loader.construct_mapping(node, deep=True)


Strict.add_constructor("tag:yaml.org,2002:map", mapping)


def documents(path):
    with open(path) as f:
        return list(yaml.load_all(f, Strict))


def parse_all():
    for path in glob.glob("**/*.yaml", recursive=True):
        try:
            documents(path)
        except yaml.YAMLError as e:
            say(path, e)
    for path in glob.glob("**/*.json", recursive=True):
        try:
            with open(path) as f:
                json.load(f)
        except ValueError as e:
            say(path, e)


INSTRUCTIONS = {"FROM", "RUN", "CMD", "EXPOSE", "ENV", "COPY", "ENTRYPOINT", "VOLUME", "USER", "WORKDIR", "ARG", "LABEL"}


def dockerfile(path):
    """Reads the instructions; the image that is left must not be root's."""
    with open(path) as f:
        text = re.sub(r"^\s*#.*\n", "", f.read(), flags=re.M)
    stages, user, last = [], "root", None
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if not line.strip():
            continue
        name, _, rest = line.strip().partition(" ")
        if name not in INSTRUCTIONS:
            say(path, f"no instruction: {line}")
        if name == "FROM":
            image = rest.split(" AS ")[0]
            if image != "scratch" and (":" not in image or image.endswith(":latest")):
                say(path, f"the image {image} has no version")
            stages.append(rest.split(" AS ")[-1] if " AS " in rest else "")
            user = "root"
        if name == "USER":
            user = rest.split(":")[0]
        if name == "COPY":
            source = re.search(r"--from=(\S+)", rest)
            if source and source[1] not in stages[:-1]:
                say(path, f"copies from {source[1]}, which is no stage before")
        if name in ("CMD", "ENTRYPOINT", "VOLUME"):
            try:
                json.loads(rest)
            except ValueError:
                say(path, f"{name} wants a list in JSON, got {rest}")
        last = name
    if user in ("root", "0"):
        say(path, "ends as root")
    if last != "CMD":
        say(path, "wants CMD last")


def compose():
    path = "docker/compose.yaml"
    (doc,) = documents(path)
    for name, service in doc["services"].items():
        here = os.path.join("docker", service["build"]["context"])
        if not os.path.exists(os.path.join(here, service["build"]["dockerfile"])):
            say(path, f"{name}: no {service['build']['dockerfile']} in {here}")
        for kind in ("secrets", "networks"):
            for one in service[kind]:
                if one not in doc[kind]:
                    say(path, f"{name}: {kind}: {one} is not declared")
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            if not source.startswith(".") and source not in doc["volumes"]:
                say(path, f"{name}: the volume {source} is not declared")
        if service["cap_drop"] != ["ALL"] or "no-new-privileges:true" not in service["security_opt"]:
            say(path, f"{name}: keeps rights that it does not need")
        for option in service["security_opt"]:
            if option.startswith("seccomp=") and not os.path.exists(os.path.join("docker", option[8:])):
                say(path, f"{name}: no {option}")


def dialling():
    """The runner of compose.yaml dials where its serve listens."""
    path = "docker/compose.yaml"
    (doc,) = documents(path)
    with open(path) as f:
        told = re.findall(r"nats://(\w+):(\d+)", f.read())
    if not told:
        say(path, "does not say where the runner dials")
    for name, port in told:
        serve = doc["services"].get(name)
        if serve is None:
            say(path, f"the runner dials {name}, which is no service")
        elif f"--state-listen=0.0.0.0:{port}" not in serve["command"]:
            say(path, f"the runner dials {name}:{port}, and {name} does not listen there")
        elif not set(serve["networks"]) & set(doc["services"]["runner"]["networks"]):
            say(path, f"the runner reaches no network of {name}")


def accounts():
    """The users of the units are the ones that are made."""
    with open("systemd/prbench.sysusers.conf") as f:
        made = {line.split()[1] for line in f if line.startswith("u ")}
    for path in glob.glob("systemd/*.service"):
        unit = configparser.RawConfigParser(strict=False, allow_no_value=True)
        unit.optionxform = str
        unit.read(path)
        if unit["Service"]["User"] not in made:
            say(path, f"the user {unit['Service']['User']} is made nowhere")
    (runner,) = documents("runner.yaml")
    if runner["sandbox"]["user"] not in made:
        say("runner.yaml", "sandbox.user is made nowhere")


def kubernetes():
    path = "kubernetes/serve.yaml"
    found = {(d["kind"], d["metadata"]["name"]): d for d in documents(path)}
    pod = found["StatefulSet", "prbench"]["spec"]["template"]
    mounts = {m["name"] for m in pod["spec"]["containers"][0]["volumeMounts"]}
    claims = {c["metadata"]["name"] for c in found["StatefulSet", "prbench"]["spec"]["volumeClaimTemplates"]}
    volumes = {v["name"] for v in pod["spec"]["volumes"]} | claims
    if mounts != volumes:
        say(path, f"mounts {mounts}, has {volumes}")
    ports = {p["name"] for p in pod["spec"]["containers"][0]["ports"]}
    for (kind, name), doc in found.items():
        if kind == "Service":
            if doc["spec"]["selector"].items() - pod["metadata"]["labels"].items():
                say(path, f"the service {name} selects nothing")
            for port in doc["spec"]["ports"]:
                if port["targetPort"] not in ports:
                    say(path, f"the service {name} leads to no port {port['targetPort']}")
        if kind == "Ingress":
            for rule in doc["spec"]["rules"]:
                for p in rule["http"]["paths"]:
                    if ("Service", p["backend"]["service"]["name"]) not in found:
                        say(path, f"{p['path']} leads to no service")


def metrics():
    """Every metric that a rule reads is one that the program has."""
    program = "".join(open(f).read() for f in glob.glob("../cmd/bot/*.go"))
    for path in glob.glob("prometheus/*.yaml"):
        with open(path) as f:
            for name in set(re.findall(r"\bprbench_\w+", f.read())):
                if f'"{name}"' not in program:
                    say(path, f"{name} is no metric of the program")


def manifest():
    path = "github-app/manifest.json"
    with open(path) as f:
        app = json.load(f)
    writes = {k for k, v in app["default_permissions"].items() if v == "write"}
    if writes != {"checks", "pull_requests"}:
        say(path, f"may write {sorted(writes)}")
    # GitHub sends these to every App, and refuses them in the list.
    for event in ("installation", "installation_repositories", "github_app_authorization", "ping"):
        if event in app["default_events"]:
            say(path, f"{event} is sent unasked and cannot be listed")


parse_all()
if not wrong:
    for d in sorted(glob.glob("docker/Dockerfile*")):
        dockerfile(d)
    compose()
    dialling()
    accounts()
    kubernetes()
    metrics()
    manifest()
for w in wrong:
    print(w)
sys.exit(1 if wrong else 0)
