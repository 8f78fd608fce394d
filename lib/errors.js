'use strict';

/** A file that must not exist does. */
class FileExistsError extends Error {
  name = 'FileExistsError';
  code = 'FILE_ALREADY_EXISTS';

  /** @param {string} path */
  constructor(path) {
    super(`File already exists: ${path}`);
    this.path = path;
  }
}

/** A file is not (or not provably) the one that was read. */
class StaleFileError extends Error {
  name = 'StaleFileError';
  code = 'FILE_MODIFIED_SINCE_READ';

  /** @param {string} path */
  constructor(path) {
    super(`File has been modified since it was read: ${path}`);
    this.path = path;
  }
}

module.exports = { FileExistsError, StaleFileError };
