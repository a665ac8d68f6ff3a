"""Makes Debian packages and rpms of the programs in a folder, from what Cargo.toml says for `cargo deb` and
`cargo generate-rpm`.

usage: python3 scripts/packages/make.py deb|rpm... [--programs DIR] [--output DIR]

It reads the same tables as they do, which take minutes to install; this needs dpkg or rpmbuild, and Python, so that a
test can make the packages that people install. network-test is left out where there is no network_test.
"""

import argparse
import glob
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]


def output(*command, cwd=PROJECT):
    return subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def package():
    """What Cargo.toml says."""
    found = json.loads(output('cargo', 'metadata', '--format-version', '1', '--no-deps', '--offline'))['packages']
    return next(package for package in found if package['name'] == 'network_test')


def libraries(program):
    """The packages whose libraries a program needs."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f'{folder}/debian')
        pathlib.Path(folder, 'debian/control').write_text('Source: x\n\nPackage: x\nArchitecture: any\n')
        line = output('dpkg-shlibdeps', '-O', '--ignore-missing-info', f'-e{program}', cwd=folder)
    return line.strip().removeprefix('shlibs:Depends=')


def compress(path):
    """As distributions want manual pages: with gzip, and the same bytes in every build."""
    with open(path, 'rb') as page, gzip.GzipFile(f'{path}.gz', 'wb', 9, mtime=0) as packed:
        shutil.copyfileobj(page, packed)
    os.remove(path)


def fill(root, assets, programs, target):
    """Copies the files of a package; returns its program."""
    program = None
    for source, folder, mode in assets:
        source = source.replace('target/release/', f'{programs}/').replace('target/packages/', f'{target}/packages/')
        files = glob.glob(os.path.join(PROJECT, source))
        if not files:
            sys.exit(f'{source}: nothing of this name')
        os.makedirs(root / folder, exist_ok=True)
        for file in files:
            to = root / folder / os.path.basename(file)
            shutil.copyfile(file, to)
            to.chmod(int(mode, 8))
            if folder == 'usr/bin/':
                # Symbols of a debug build are larger than all else.
                subprocess.run(['strip', '--strip-unneeded', to], check=True)
                program = to
            if '/man/' in folder:
                compress(to)
    return program


def control(about, deb, summary, program):
    """The package's description, as dpkg wants it."""
    architecture = output('dpkg', '--print-architecture').strip()
    depends = deb['depends'].replace('$auto', libraries(program))
    lines = deb['extended-description'].strip().splitlines()
    return (f'Package: {deb["name"]}\nVersion: {about["version"]}\nArchitecture: {architecture}\n'
            f'Maintainer: {deb["maintainer"]}\nSection: {deb["section"]}\nPriority: optional\nDepends: {depends}\n'
            f'Description: {summary}\n' + ''.join(f' {line}\n' for line in lines))


def make_deb(about, deb, rpm, root, given, target):
    program = fill(root, deb['assets'], given.programs, target)
    notice = root / 'usr/share/doc' / deb['name'] / 'copyright'
    notice.write_text(f'{deb["copyright"]}\nLicense: {about["license"]}\n\n' + (PROJECT / 'LICENSE').read_text())
    (root / 'DEBIAN').mkdir(mode=0o755)
    # `cargo deb` refuses a key of ours for the summary, and takes `description` for both packages.
    (root / 'DEBIAN/control').write_text(control(about, deb, rpm['summary'], program))
    print(output('dpkg-deb', '--root-owner-group', '--build', root, given.output).strip())


def make_rpm(about, deb, rpm, root, given, target):
    assets = [(asset['source'], asset['dest'].lstrip('/'), asset['mode']) for asset in rpm['assets']]
    fill(root, assets, given.programs, target)
    files = sorted(path for path in root.rglob('*') if path.is_file())
    with tempfile.TemporaryDirectory() as folder:
        spec = pathlib.Path(folder, f'{rpm["name"]}.spec')
        # rpmbuild adds the libraries that the program needs. `*` is any version.
        requires = ''.join(f'Requires: {name} {version}'.removesuffix(' *') + '\n'
                           for name, version in rpm.get('requires', {}).items())
        spec.write_text(
            f'Name: {rpm["name"]}\nVersion: {about["version"]}\nRelease: 1\nLicense: {about["license"]}\n'
            f'Summary: {rpm["summary"]}\n{requires}%description\n{deb["extended-description"].strip()}\n'
            f'%install\ncp -a {root}/. %{{buildroot}}\n%files\n%defattr(-,root,root)\n'
            + ''.join(f'/{file.relative_to(root)}\n' for file in files))
        # What rpmbuild would do to the files after they are copied is done already.
        macros = {'_topdir': folder, '_rpmdir': os.path.abspath(given.output), '_build_id_links': 'none',
                  '_build_name_fmt': '%%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm', 'debug_package': '%{nil}',
                  '__os_install_post': '%{nil}', '_binary_payload': 'w6.gzdio'}
        defined = [part for name, value in macros.items() for part in ('--define', f'{name} {value}')]
        print(output('rpmbuild', '-bb', '--quiet', *defined, spec).strip())


def main():
    options = argparse.ArgumentParser(description='Makes Debian packages and rpms of the programs in a folder.')
    target = os.environ.get('CARGO_TARGET_DIR', PROJECT / 'target')
    makers = {'deb': make_deb, 'rpm': make_rpm}
    options.add_argument('kinds', nargs='+', choices=makers, metavar='deb|rpm', help='what to make')
    options.add_argument('--programs', default=f'{target}/release', help='where network_analyze and network_test are')
    options.add_argument('--output', default=f'{target}/made', help='where the packages go')
    given = options.parse_args()
    subprocess.run([PROJECT / 'scripts/packages/assets', given.programs], check=True)
    about = package()
    deb, rpm = about['metadata']['deb'], about['metadata']['generate-rpm']
    variants = [(deb, rpm)]
    if os.path.exists(f'{given.programs}/network_test'):
        variants.append((deb | deb['variants']['mpi'], rpm | rpm['variants']['mpi']))
    os.makedirs(given.output, exist_ok=True)
    for kind in given.kinds:
        for variant in variants:
            with tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder, 'root')
                root.mkdir(mode=0o755)
                makers[kind](about, *variant, root, given, target)


if __name__ == '__main__':
    main()
