// Newer Nodes can link to a module that an import() has half loaded, though they refuse to require() it.
export * from 'operon-agents-core';
