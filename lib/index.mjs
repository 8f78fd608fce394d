import classes from './classes.js';
import cores from './core.js';
import shell from './shell.js';

const { core, warnings } = await cores.importCore();

export const {
  OsSandbox,
  LocalMachine,
  LocalEnvironment,
  SandboxedLocalMachine,
  SandboxedLocalEnvironment,
  FileExistsError,
  StaleFileError,
} = classes.classesFor(core, warnings);
export const { shellQuoteArg, toSrtInvocation } = shell;
