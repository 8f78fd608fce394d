'use strict';

/** By which clients find the proxy for https, then for http; in the order in which curl looks. */
const PROXY_VARIABLES = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY'];
const EXCEPTION_VARIABLES = ['no_proxy', 'NO_PROXY'];

/** @param {readonly string[]} names @param {NodeJS.ProcessEnv} env */
const firstSet = (names, env) => names.find((name) => env[name]);

/**
 * The proxy through which this process itself reaches the outside, as its environment says.
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {{ variable?: string, upstreamProxy?: string, noProxy?: string }} variable: where it says so
 */
function hostProxy(env = process.env) {
  const variable = firstSet(PROXY_VARIABLES, env);
  const exceptions = firstSet(EXCEPTION_VARIABLES, env);
  return {
    variable,
    upstreamProxy: variable && env[variable],
    noProxy: exceptions && env[exceptions],
  };
}

module.exports = { hostProxy };
