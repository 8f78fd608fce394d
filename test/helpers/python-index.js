'use strict';
// A package index for pip, made on the spot: an application as a source distribution, and the library that it needs
// as a wheel.

const { execFileSync } = require('node:child_process');
const path = require('node:path');

const MAKE = `
import io, os, sys, tarfile, zipfile
index = sys.argv[1]
wheel = {
    'honest_lib/__init__.py': 'def greet(name): return f"hello {name}"\\n',
    'honest_lib/data/text.txt': 'data\\n',
    'honest_lib-1.0.dist-info/METADATA': 'Metadata-Version: 2.1\\nName: honest-lib\\nVersion: 1.0\\n',
    'honest_lib-1.0.dist-info/WHEEL': 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n',
}
wheel['honest_lib-1.0.dist-info/RECORD'] = ''.join(f'{name},,\\n' for name in wheel)
setup = '''
from setuptools import setup
setup(name="honest-app", version="2.0", packages=["honest_app"], install_requires=["honest-lib>=1"],
      entry_points={"console_scripts": ["honest-app=honest_app:main"]})
'''
source = {
    'PKG-INFO': 'Metadata-Version: 2.1\\nName: honest-app\\nVersion: 2.0\\n',
    'setup.py': setup,
    'honest_app/__init__.py': 'from honest_lib import greet\\ndef main(): print(greet("world"))\\n',
    'honest_app/__main__.py': 'from . import main\\nmain()\\n',
}
def place(project, file):
    folder = os.path.join(index, 'simple', project)
    os.makedirs(folder)
    with open(os.path.join(folder, 'index.html'), 'w') as page:
        page.write(f'<!DOCTYPE html><a href="{file}">{file}</a>')
    return os.path.join(folder, file)
with zipfile.ZipFile(place('honest-lib', 'honest_lib-1.0-py3-none-any.whl'), 'w') as archive:
    for name, text in wheel.items():
        archive.writestr(name, text)
with tarfile.open(place('honest-app', 'honest-app-2.0.tar.gz'), 'w:gz') as archive:
    for name, text in source.items():
        entry = tarfile.TarInfo(f'honest-app-2.0/{name}')
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text.encode()))
`;

/** @param {string} folder becomes the index: serve it, and its URL ends with /simple */
function makePythonIndex(folder) {
  execFileSync('/usr/bin/python3', ['-c', MAKE, path.resolve(folder)], { stdio: 'inherit' });
}

module.exports = { makePythonIndex };
