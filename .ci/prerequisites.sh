#!/bin/sh
# Check that the programs named as arguments (python, java, maven, git) are there and new enough.
# Name everything that is missing in one message, with Debian's package names, and end with status 1.
# It is a shell script, since Python may be what is missing. PYTHON and JAVA_HOME are respected.
set -u

missing='' packages=''

lacks() { # what is missing, Debian's packages for it
    missing="$missing
  - $1"
    packages="$packages $2"
}

check_python() {
    python=${PYTHON:-python3}
    if ! command -v "$python" >/dev/null; then
        lacks "Python 3.11 or newer: there is no $python on the PATH" 'python3 python3-venv'
    elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        lacks "Python 3.11 or newer: $python is $("$python" --version 2>&1); choose another one by PYTHON=..." 'python3 python3-venv'
    elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        lacks "Python's modules venv and ensurepip" python3-venv
    fi
}

check_java() {
    java=${JAVA_HOME:+$JAVA_HOME/bin/}java
    if ! command -v "$java" >/dev/null; then
        if [ -n "${JAVA_HOME:-}" ]; then where='to which JAVA_HOME leads'; else where='on the PATH'; fi
        lacks "Java 17 or newer: there is no $java $where" openjdk-17-jre-headless
        return
    fi
    # The first line is like: openjdk version "17.0.17" 2025-10-21. Java 8 calls itself 1.8.
    release=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
    if [ "${release:-0}" -lt 17 ]; then
        lacks "Java 17 or newer: $java is version ${release:-unknown}" openjdk-17-jre-headless
    fi
}

check_maven() {
    command -v mvn >/dev/null || lacks 'Maven, which downloads Apache Kafka for the tests: there is no mvn on the PATH' maven
}

check_git() {
    command -v git >/dev/null || lacks 'git, which lists the files to check: there is no git on the PATH' git
}

for program in "$@"; do
    "check_$program"
done

if [ -n "$missing" ]; then
    printf 'These programs are needed and missing:%s\nOn Debian: apt-get install%s\n' "$missing" "$packages" >&2
    exit 1
fi
