'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

/** The credential paths of the repository row's home. */
const CREDENTIALS = ['.ssh/id_ed25519', '.aws/credentials', '.kube/config', '.netrc', '.docker/config.json'];
const FILES_PER_FOLDER = 100;

/** A folder for everything that a bench makes. Not below /tmp, which commands may write anyway. */
class Scratch {
  #root = fs.mkdtempSync('/var/tmp/os-sandbox-bench-');

  /** @param {string} name */
  folder(name) {
    const folder = path.join(this.#root, name);
    fs.mkdirSync(folder, { recursive: true });
    return folder;
  }

  /** A home without anything in it. */
  emptyHome() {
    return this.folder('home');
  }

  /** A home with five credential paths. */
  homeWithCredentials() {
    const home = this.folder('home-with-credentials');
    for (const name of CREDENTIALS) {
      fs.mkdirSync(path.dirname(path.join(home, name)), { recursive: true });
      fs.writeFileSync(path.join(home, name), 'secret\n');
    }
    return home;
  }

  /** @param {string} name */
  repository(name) {
    const folder = this.folder(name);
    execFileSync('git', ['init', '-q', folder], { stdio: ['ignore', 'ignore', 'inherit'] });
    return folder;
  }

  /**
   * A folder of folders with a hundred small files in each.
   * @param {string} name
   * @param {number} files
   */
  tree(name, files) {
    const top = this.folder(name);
    for (let i = 0; i < files / FILES_PER_FOLDER; i++) {
      const folder = path.join(top, `part${i}`);
      fs.mkdirSync(folder);
      for (let k = 0; k < FILES_PER_FOLDER; k++) fs.writeFileSync(path.join(folder, `file${k}.txt`), 'text\n');
    }
    return top;
  }

  /**
   * Makes folders of a tree into repositories, all of them copies of one with a configuration and hooks.
   * @param {string} tree
   * @param {number} from
   * @param {number} to
   */
  addRepositories(tree, from, to) {
    const model = path.join(this.repository('model'), '.git');
    fs.writeFileSync(path.join(model, 'hooks', 'post-commit'), '#!/bin/sh\n', { mode: 0o755 });
    execFileSync('git', ['--git-dir', model, 'config', 'core.hooksPath', 'tools/hooks']);
    for (let i = from; i < to; i++) fs.cpSync(model, path.join(tree, `part${i}`, '.git'), { recursive: true });
  }

  remove() {
    fs.rmSync(this.#root, { recursive: true, force: true, maxRetries: 3 });
  }
}

module.exports = { Scratch };
