/**
 * Variables of the environment that the agent's processes do not get, and what takes their place.
 * An operator who has set one looks for its effect in vain, so each is named. Pure.
 */

const code = ["NODE_OPTIONS", "NODE_PATH", "LD_PRELOAD"];
const proxies = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "NODE_USE_ENV_PROXY"];
const certificates = ["NODE_EXTRA_CA_CERTS"];

type Environment = Readonly<Record<string, string | undefined>>;

const setIn = (env: Environment, names: readonly string[]): readonly string[] =>
  names.flatMap((name) => [name, name.toLowerCase()]).filter((name) => (env[name] ?? "") !== "");

/** One sentence for each variable that is set and may bring foreign code. */
export function codeEnvironmentWarnings(env: Environment): readonly string[] {
  const words = "is set; it is not passed on to signer and courier, but may have run code here";
  return setIn(env, code).map((name) => `${name} ${words}`);
}

/**
 * One sentence for each variable of a way out of the network that is set, in either case of
 * letters.
 */
export function networkEnvironmentWarnings(env: Environment): readonly string[] {
  const set = (names: readonly string[]): readonly string[] => setIn(env, names);
  return [
    ...set(proxies).map(
      (name) =>
        `${name} is set and not used: network.proxy of config.json names the proxy, network.direct its exceptions`,
    ),
    ...set(certificates).map(
      (name) =>
        `${name} is set and not used: network.ca of config.json names the file of certificates`,
    ),
  ];
}
