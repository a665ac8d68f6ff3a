"""Makes Debian packages of the programs in a folder, from what Cargo.toml says for `cargo deb`.

usage: python3 scripts/packages/deb.py [--programs DIR] [--output DIR]

It reads the same table as `cargo deb`, which takes minutes to install and builds the package once more; this needs dpkg
and Python alone, so that a test can make the packages that people install. Summaries are those of `cargo generate-rpm`.
network-test is left out where there is no network_test.
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
    """As Debian wants manual pages: with gzip, and the same bytes in every build."""
    with open(path, 'rb') as page, gzip.GzipFile(f'{path}.gz', 'wb', 9, mtime=0) as packed:
        shutil.copyfileobj(page, packed)
    os.remove(path)


def fill(root, deb, programs, target):
    """Copies the files of a package; returns its program."""
    program = None
    for source, folder, mode in deb['assets']:
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


def main():
    options = argparse.ArgumentParser(description='Makes Debian packages of the programs in a folder.')
    target = os.environ.get('CARGO_TARGET_DIR', PROJECT / 'target')
    options.add_argument('--programs', default=f'{target}/release', help='where network_analyze and network_test are')
    options.add_argument('--output', default=f'{target}/debian', help='where the packages go')
    given = options.parse_args()
    subprocess.run([PROJECT / 'scripts/packages/assets', given.programs], check=True)
    about = package()
    base, rpm = about['metadata']['deb'], about['metadata']['generate-rpm']
    variants = [(base, rpm['summary'])]
    if os.path.exists(f'{given.programs}/network_test'):
        variants.append((base | base['variants']['mpi'], rpm['variants']['mpi']['summary']))
    os.makedirs(given.output, exist_ok=True)
    for deb, summary in variants:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder, 'root')
            root.mkdir(mode=0o755)
            program = fill(root, deb, given.programs, target)
            notice = root / 'usr/share/doc' / deb['name'] / 'copyright'
            notice.write_text(f'{deb["copyright"]}\nLicense: {about["license"]}\n\n' + (PROJECT / 'LICENSE').read_text())
            (root / 'DEBIAN').mkdir(mode=0o755)
            (root / 'DEBIAN/control').write_text(control(about, deb, summary, program))
            print(output('dpkg-deb', '--root-owner-group', '--build', root, given.output).strip())


if __name__ == '__main__':
    main()
