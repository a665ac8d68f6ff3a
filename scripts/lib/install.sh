# shellcheck shell=bash
# Finds out what is missing to build and run, and installs it where that is possible. To be sourced after common.sh.
#
# Nothing is asked of the package manager as long as nothing is missing, so a second run costs no time and no network.

: "${project:?source scripts/lib/common.sh first}"
tools=${CARGO_TARGET_DIR:-$project/target}/tools

# What can be needed: name | Debian and Ubuntu | Fedora and RHEL | Spack. `present NAME` tells whether it is there.
requirements='
compiler   | build-essential             | gcc gcc-c++ make    | gcc
pkg-config | pkg-config                  | pkgconf             | pkgconf
libclang   | libclang-dev                | clang-devel         | llvm
netcdf     | libnetcdf-dev               | netcdf-devel        | netcdf-c ~mpi
ncdump     | netcdf-bin                  | netcdf              | netcdf-c ~mpi
mpi        | openmpi-bin libopenmpi-dev  | openmpi-devel       | openmpi (or the module of your MPI)
openmpi    | openmpi-bin libopenmpi-dev  | openmpi-devel       | openmpi
mpich      | mpich libmpich-dev          | mpich-devel         | mpich
simgrid    | libsimgrid-dev              | simgrid-devel       | simgrid +smpi
slurm      | slurm-wlm                   | slurm-slurmctld slurm-slurmd | slurm
munge      | munge                       | munge               | munge
shellcheck | shellcheck                  | ShellCheck          | shellcheck
ps         | procps                      | procps-ng           | procps
mandoc     | mandoc                      | mandoc              | part of the system
browser    | chromium chromium-driver    | chromium chromedriver | part of a workstation
python     | python3 python3-venv        | python3             | python
iproute2   | iproute2                    | iproute iproute-tc  | part of the system
util-linux | util-linux                  | util-linux          | part of the system
dpkg       | dpkg-dev                    | dpkg-dev            | part of Debian
rpm        | rpm                         | rpm-build           | rpm
promtool   | prometheus                  | golang-github-prometheus | prometheus
'

# column NAME N: the N-th column of a requirement.
column() {
    awk -F'|' -v name="$1" -v n="$2" '
        { key = $1; gsub(/ /, "", key) }
        key == name { gsub(/^ +| +$/, "", $n); gsub(/ +/, " ", $n); print $n }' <<<"$requirements"
}

present() {
    case $1 in
    compiler) has cc && has make && has readelf ;;
    pkg-config) has pkg-config ;;
    libclang) [ -n "${LIBCLANG_PATH:-}" ] || holds_libclang /usr/lib*/llvm*/lib* /usr/lib* /usr/lib*/*-linux-gnu* ;;
    netcdf) has nc-config || { has pkg-config && pkg-config --exists netcdf; } ;;
    ncdump) has ncdump ;;
    mpi) has "${MPICC:-mpicc}" && { has mpirun || has mpiexec; } ;;
    openmpi) has mpicc.openmpi && has mpirun.openmpi ;;
    mpich) has mpicc.mpich && has mpiexec.mpich ;;
    simgrid) has smpirun && has smpicc ;;
    slurm) has slurmctld && has slurmd && has sbatch ;;
    munge) has munged ;;
    shellcheck) has shellcheck ;;
    ps) has ps ;;
    mandoc) has mandoc ;;
    browser) has chromium && has chromedriver ;;
    iproute2) has ip && has tc && has bridge ;;
    util-linux) has unshare && has nsenter && has setsid && has flock && has runuser && has mount ;;
    dpkg) has dpkg-deb && has dpkg-shlibdeps ;;
    rpm) has rpm && has rpmbuild ;;
    python) has python3 && python3 -c 'import ensurepip, venv' 2>/dev/null ;;
    *) fail 4 "scripts/lib/install.sh: unknown requirement \`$1\`" ;;
    esac
}

# holds_libclang FOLDER...: whether the library that bindgen loads is in one of them, or where llvm-config says.
# libclang-cpp is another library, which comes with many packages.
holds_libclang() {
    local folder
    has llvm-config && set -- "$@" "$(llvm-config --libdir)"
    for folder in "$@"; do
        compgen -G "$folder/libclang.so*" >/dev/null || compgen -G "$folder/libclang-[0-9]*.so*" >/dev/null || continue
        return 0
    done
    return 1
}

# require NAME...: installs what is missing, or says what to do and ends with code 3.
require() {
    local name missing=()
    for name in "$@"; do
        present "$name" || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    has apt-get || explain_missing "this machine has no apt-get, so this script cannot install anything." "${missing[@]}"
    local packages=()
    for name in "${missing[@]}"; do
        read -ra words <<<"$(column "$name" 2)"
        packages+=("${words[@]}")
    done
    apt_install "${packages[@]}" || explain_missing "apt-get could not install all of it." "${missing[@]}"
    for name in "${missing[@]}"; do
        present "$name" || explain_missing "apt-get has installed ${packages[*]}, but not everything is found." "$name"
    done
}

apt_install() {
    say "Installing $*"
    as_root apt-get update -q || return 1
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
}

# Without a terminal nobody can type a password.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif has sudo && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
        sudo "$@"
    else
        printf '%s\n' "installing packages needs root: run this script as root, or with a sudo that needs no password" >&2
        return 1
    fi
}

explain_missing() {
    local name
    printf '\n%s\n%s\n' "$1" "Please install what is missing and start this script again:" >&2
    shift
    # As a table.
    {
        printf '%s|%s|%s|%s\n' missing 'Debian, Ubuntu (apt)' 'Fedora, RHEL (dnf)' 'cluster (spack, module)'
        for name in "$@"; do
            printf '%s|%s|%s|%s\n' "$name" "$(column "$name" 2)" "$(column "$name" 3)" "$(column "$name" 4)"
        done
    } | awk -F'|' '{ printf "  %-12s %-30s %-22s %s\n", $1, $2, $3, $4 }' >&2
    exit 3
}

# require_tools: what only tests use, into $tools, so that the machine itself stays as it is: a server of metrics that
# apt-get installs would also be started.
require_tools() {
    has promtool || [ -x "$tools/usr/bin/promtool" ] || unpack_promtool
    has reframe || [ -x "$tools/reframe/bin/reframe" ] || install_reframe
}

unpack_promtool() {
    has apt-get || explain_missing "this machine has no apt-get, so this script cannot unpack a program." promtool
    say "Unpacking promtool into $tools"
    mkdir -p "$tools"
    (
        cd "$tools"
        [ -n "$(candidate_of prometheus)" ] || as_root apt-get update -q
        apt-get download -q prometheus && dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool
    ) || explain_missing "apt-get could not download prometheus." promtool
    rm -f "$tools"/prometheus_*.deb
}

install_reframe() {
    say "Installing ReFrame into $tools/reframe"
    rm -rf "$tools/reframe"
    mkdir -p "$tools"
    { python3 -m venv "$tools/reframe" && "$tools/reframe/bin/pip" install -q --disable-pip-version-check ReFrame-HPC==4.10.4; } ||
        { rm -rf "$tools/reframe" && fail 3 "ReFrame cannot be installed from PyPI: install it so that \`reframe\` is on PATH"; }
}

# The oldest compiler that the package can be built with.
oldest_rust() {
    sed -n 's/^rust-version = "\(.*\)"/\1/p' "$project/Cargo.toml"
}

# version_at_least WANTED FOUND
version_at_least() {
    [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

# require_rust: cargo on PATH, new enough. Looks where rustup puts it, then asks the package manager, then rustup itself.
require_rust() {
    local wanted found
    wanted=$(oldest_rust)
    PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
    has cargo || install_rust "$wanted"
    has cargo || no_rust "there is no cargo on this machine." "$wanted"
    found=$(cd "$project" && cargo --version | awk '{ print $2 }')
    version_at_least "$wanted" "$found" || no_rust "cargo $found is too old." "$wanted"
}

install_rust() {
    has apt-cache || return 0
    local candidate
    if [ -n "$(candidate_of rustup)" ]; then
        apt_install rustup && rustup default stable
        return
    fi
    # Distributions are often behind: their cargo is installed only where it is new enough.
    candidate=$(candidate_of cargo)
    if [ -n "$candidate" ] && version_at_least "$1" "$candidate"; then
        apt_install cargo
    elif [ "$(id -u)" -eq 0 ]; then
        # Whoever is not root is told how, and asked to do it.
        has curl || apt_install curl ca-certificates
        curl --proto '=https' --tlsv1.2 -sSf https://static.rust-lang.org/rustup/rustup-init.sh |
            sh -s -- -y --no-modify-path --profile minimal
    fi
}

# candidate_of PACKAGE: the version that apt would install, without its epoch; nothing where others only mention it.
candidate_of() {
    apt-cache policy "$1" 2>/dev/null | awk '/Candidate:/ && $2 != "(none)" { sub(/^[0-9]*:/, "", $2); print $2 }'
}

no_rust() {
    fail 3 "$1 This package needs Rust $2 or newer, which the distribution does not offer." \
        "Install it with rustup (https://rustup.rs; no root needed), or load your cluster's module," \
        "and start this script again."
}

# require_localhost: what debootstrap makes does not know this name yet, by which browsers find themselves.
require_localhost() {
    getent hosts localhost >/dev/null || echo "127.0.0.1 localhost" >>/etc/hosts ||
        fail 3 "this machine does not know the name localhost: add \`127.0.0.1 localhost\` to /etc/hosts"
}

# require_component COMMAND COMPONENT: a part of the Rust toolchain.
require_component() {
    (cd "$project" && cargo "$1" --version) >/dev/null 2>&1 && return 0
    if has rustup; then
        (cd "$project" && rustup component add "$2")
    elif has apt-get; then
        apt_install "$2"
    fi
    (cd "$project" && cargo "$1" --version) >/dev/null 2>&1 || fail 3 "\`cargo $1\` is missing: install the component $2"
}
