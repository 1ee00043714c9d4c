# Sourced by the scripts beside it. `set_up` makes .venv ready; where nothing has changed it does and prints nothing.
# For Linux, macOS (whose bash is 3.2) and Git Bash on Windows. PYTHON names the Python to use, where it matters.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
venv="$root/.venv"
case "$OSTYPE" in
    msys* | cygwin* | win32*) bin="$venv/Scripts" ;;
    *) bin="$venv/bin" ;;
esac

# libEGL and Mesa's drivers draw without a screen, OSMesa is the fallback; Taichi's own library is linked with libX11.
graphics_packages=(libx11-6 libegl1 libgl1 libgl1-mesa-dri libosmesa6)
vulkan_packages=(libvulkan1 mesa-vulkan-drivers)

say() { printf 'orbitile: %s\n' "$*" >&2; }

fail() {
    say "$@"
    exit 1
}

# set_up EXTRA [DEBIAN_PACKAGE...]: virtual environment with orbitile[EXTRA] ("-" for no extra), and Debian packages.
set_up() {
    local extra="$1"
    if ! is_current "$extra"; then
        if command -v flock >/dev/null; then # another set-up may be running
            exec 9<"$root"
            flock 9
        fi
        if ! is_current "$extra"; then
            make_venv
            install_project "$extra"
            fingerprint >"$(stamp_of "$extra")" # last, so that an interrupted set-up is done again
        fi
        if command -v flock >/dev/null; then exec 9<&-; fi
    fi
    add_debian_packages "${@:2}"
}

stamp_of() { printf '%s' "$venv/.set-up-${1/#-/plain}"; }

# Whether .venv has what an extra needs. What was installed with an extra is enough for none.
is_current() {
    local stamp stamps
    stamps=("$(stamp_of "$1")")
    if [[ "$1" == "-" ]]; then stamps=("$venv"/.set-up-*); fi
    if [[ ! -x "$bin/python" ]]; then return 1; fi
    for stamp in "${stamps[@]}"; do
        if [[ -f "$stamp" && "$(<"$stamp")" == "$(fingerprint)" ]]; then return 0; fi
    done
    return 1
}

# What the environment depends on: the metadata of the project (with the packages it needs), the Python, the place.
fingerprint() {
    local sum=(sha256sum)
    if ! command -v sha256sum >/dev/null; then sum=(shasum -a 256); fi # macOS
    { cat "$root/pyproject.toml" "$venv/pyvenv.cfg"; readlink -f "$bin/python"; echo "$venv"; } 2>/dev/null |
        "${sum[@]}"
}

supported='sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))'

# find_python MODULES: path of the first supported Python that can import them all.
find_python() {
    local name path
    for name in ${PYTHON:-python3.13 python3.12 python3.11 python3.10 python3.14 python3 python}; do
        while read -r path; do
            if [[ "$path" != "$venv"/* ]] && "$path" -c "import sys, $1; $supported" >/dev/null 2>&1 </dev/null; then
                printf '%s\n' "$path"
                return 0
            fi
        done < <(type -aP "$name" || true)
    done
    return 1
}

make_venv() {
    if is_usable_venv; then return; fi
    local python="" without_pip=()
    python="$(find_python 'venv, ensurepip')" || python=""
    if [[ -z "$python" ]] && can_use_apt; then
        apt_install python3 python3-venv || say "apt-get could not install them: $apt_error"
        python="$(find_python 'venv, ensurepip')" || python=""
    fi
    if [[ -z "$python" ]] && python="$(find_python 'venv, pip')"; then
        without_pip=(--without-pip) # Debian without python3-venv, but with python3-pip
    fi
    if [[ -z "$python" ]]; then
        fail "found no Python 3.10 to 3.14 with the modules venv and ensurepip." \
            "On Debian and Ubuntu: sudo apt-get install python3 python3-venv"
    fi
    if [[ -e "$venv" ]]; then
        say "making $venv anew with $python: it is incomplete, was moved, or has an unsupported Python"
    else
        say "making $venv with $python"
    fi
    "$python" -m venv --clear ${without_pip[@]+"${without_pip[@]}"} "$venv" || fail "could not make $venv with $python (see above)"
    if ((${#without_pip[@]})); then
        "$python" -m pip --python "$bin/python" install --quiet pip ||
            fail "could not put pip into $venv (see above). On Debian and Ubuntu: sudo apt-get install python3-venv"
    fi
}

is_usable_venv() {
    [[ -x "$bin/python" && -f "$bin/activate" ]] || return 1
    "$bin/python" -c "import sys; $supported" >/dev/null 2>&1 || return 1
    local made_at
    made_at="$(set +u && source "$bin/activate" >/dev/null 2>&1 && printf '%s' "$VIRTUAL_ENV")" || return 1
    [[ "$made_at" -ef "$venv" ]] || return 1
    "$bin/python" -m pip --version >/dev/null 2>&1 || "$bin/python" -m ensurepip >/dev/null 2>&1
}

install_project() {
    local target="." folder
    if [[ "$1" != "-" ]]; then target=".[$1]"; fi
    for folder in "$venv"/lib/python3*/site-packages/*.dist-info "$venv"/Lib/site-packages/*.dist-info; do # left by an interrupted pip
        if [[ -d "$folder" && ! -f "$folder/RECORD" ]]; then rm -rf "$folder"; fi
    done
    say "installing orbitile${target#.} and what it needs into $venv (some minutes the first time)"
    if [[ "$1" == dev ]]; then # some 200 packages, which uv installs in a fifth of the time; where it cannot, pip does
        "$bin/python" -m pip install --quiet --disable-pip-version-check "uv>=0.5" &&
            (cd "$root" && "$bin/uv" pip install --quiet --python "$bin/python" --editable "$target") && return
    fi
    (cd "$root" && "$bin/python" -m pip install --quiet --disable-pip-version-check --editable "$target") ||
        fail "pip could not install orbitile (see above). It needs the network once; then run this again."
}

# Graphics libraries are wanted, not needed: without them all but drawing (or Vulkan) works.
add_debian_packages() {
    local missing=()
    if ! command -v dpkg-query >/dev/null; then return; fi # not Debian
    find_missing "$@"
    if ((${#missing[@]} == 0)); then return; fi
    if ! can_use_apt; then
        say "some graphics libraries are missing; drawing or Vulkan may fail. To install them:"
        say "    sudo apt-get install ${missing[*]}"
    elif ! apt_install "${missing[@]}"; then
        say "apt-get failed: $apt_error"
        say "going on without; drawing or Vulkan may fail. To try again: apt-get install ${missing[*]}"
    fi
}

# find_missing PACKAGE...: sets `missing` to those that are not installed, and not known to be unavailable here.
find_missing() {
    local settled package
    settled="$(
        dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p'
        cat "$unavailable" 2>/dev/null || true
    )"
    for package in "$@"; do
        if [[ $'\n'"$settled"$'\n' != *$'\n'"$package"$'\n'* ]]; then missing+=("$package"); fi
    done
}

unavailable="$venv/.unavailable-packages"
apt_error=""

can_use_apt() { ((EUID == 0)) && command -v apt-get >/dev/null; }

# apt_install PACKAGE...: quietly. Leaves the reason of a failure in `apt_error`.
apt_install() {
    local log package known=()
    say "installing Debian packages: $*"
    log="$(mktemp)"
    if ! apt_get install "$@" >"$log" 2>&1; then
        # The lists of packages may be old or absent, or an earlier installation may have been interrupted.
        dpkg --configure -a >/dev/null 2>&1 </dev/null || true
        if apt_get -o APT::Update::Error-Mode=any update >"$log" 2>&1; then
            for package in "$@"; do
                if apt-cache show "$package" >/dev/null 2>&1; then
                    known+=("$package")
                else
                    say "left out $package: there is no such package here"
                    if [[ -d "$venv" ]]; then echo "$package" >>"$unavailable"; fi
                fi
            done
            if ((${#known[@]} == 0)) || apt_get install "${known[@]}" >"$log" 2>&1; then
                rm -f "$log"
                return
            fi
        fi
        apt_error="$(grep -m1 '^E:' "$log" || tail -n 1 "$log")"
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

apt_get() {
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends -o DPkg::Lock::Timeout=120 \
        -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 "$@" </dev/null
}
