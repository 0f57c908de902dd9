/**
 * The address of a PostgreSQL database, as `psql` takes it: `postgres://user@host:port/database`,
 * with several hosts between commas, or a socket's folder as `?host=/run/postgresql`. Source:
 * postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING.
 */

export interface ServerPlace {
  readonly host: string; // or the folder of a socket
  readonly port: number;
}

/** The servers of a database, and the role that enters it. */
export interface DatabaseAddress {
  readonly servers: readonly ServerPlace[]; // tried in this order
  readonly user: string; // "" for the name of the system's user
  readonly database: string;
  readonly sslMode: SslMode;
  readonly sslRootCert: string; // path, or ""
}

export const sslModes = ["disable", "require", "verify-full"] as const;
export type SslMode = (typeof sslModes)[number];

/** True for a setting that names a database of PostgreSQL. */
export const isPostgresUrl = (text: string): boolean => /^postgres(?:ql)?:\/\//.test(text);

const portDefault = 5432;
const portMax = 65_535;
const urlPattern =
  /^postgres(?:ql)?:\/\/(?:([^:@/?]*)(?::([^@/?]*))?@)?([^/?]*)\/([^/?]*)(?:\?(.*))?$/;
const parametersKnown = ["host", "port", "user", "sslmode", "sslrootcert"];

/**
 * The address that a text names; a string says what is wrong with one part, without its value. A
 * password in it is refused, because the configuration holds no secret.
 */
export function parseDatabaseUrl(text: string): DatabaseAddress | string {
  const parts = urlPattern
    .exec(text)
    ?.slice(1)
    .map((part) => decodePart(part ?? ""));
  const [user = "", password = "", hosts = "", database = ""] = parts ?? [];
  if (database === "" || parts?.includes(null) === true)
    return "must be postgres://USER@HOST:PORT/DATABASE";
  if (password !== "")
    return "holds a password, which belongs into the file of databasePasswordFile";
  const parameters = new URLSearchParams(urlPattern.exec(text)?.[5] ?? "");
  if ([...parameters.keys()].some((name) => !parametersKnown.includes(name)))
    return `has a parameter that is none of ${parametersKnown.join(", ")}`;
  const servers = serversOf(hosts ?? "", parameters);
  if (!servers.every(({ host, port }) => host !== "" && isPort(port)))
    return "names no host, or a port that is none";
  const sslMode = parameters.get("sslmode") ?? sslModeFor(servers);
  if (!isSslMode(sslMode)) return `has an sslmode that is none of ${sslModes.join(", ")}`;
  return {
    servers,
    user: user || (parameters.get("user") ?? ""),
    database: database ?? "",
    sslMode,
    sslRootCert: parameters.get("sslrootcert") ?? "",
  };
}

/** Null for a part that is not well-formed. */
function decodePart(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** The servers before the database's name, or of `host` and `port`, which libpq reads as lists. */
function serversOf(hosts: string, parameters: URLSearchParams): readonly ServerPlace[] {
  const named = parameters.get("host");
  if (named === null) return hosts.split(",").map(placeOf);
  const ports = (parameters.get("port") ?? String(portDefault)).split(",");
  return named
    .split(",")
    .map((host, at) => ({ host, port: Number(ports.length === 1 ? ports[0] : ports[at]) }));
}

function placeOf(text: string): ServerPlace {
  const [, host = "", port] = /^(\[[^\]]+\]|[^:]*)(?::(\d+))?$/.exec(text) ?? [];
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port ?? portDefault) };
}

const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= portMax;
const isSslMode = (text: string): text is SslMode => (sslModes as readonly string[]).includes(text);

/** Passwords and money's records cross no network in the clear unless the setting says so. */
function sslModeFor(places: readonly { readonly host: string }[]): SslMode {
  const isHere = ({ host }: { readonly host: string }): boolean =>
    host.startsWith("/") || ["localhost", "127.0.0.1", "::1"].includes(host);
  return places.every(isHere) ? "disable" : "verify-full";
}

/** The address for messages. */
export function nameOfDatabase({
  servers,
  user,
  database,
}: Pick<DatabaseAddress, "servers" | "user" | "database">): string {
  const places = servers.map(({ host, port }) => `${host}:${port}`).join(",");
  return `postgres://${user === "" ? "" : `${user}@`}${places}/${database}`;
}
