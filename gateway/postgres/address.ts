/**
 * The address of a PostgreSQL database, as `psql` takes it: `postgres://user@host:port/database`,
 * with several hosts between commas, or a socket's folder as `?host=/run/postgresql`. Source:
 * postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING.
 */

/** The servers of a database, and the role that enters it. */
export interface DatabaseAddress {
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly user: string; // "" for the name of the system's user
  readonly password: string; // "" for none
  readonly database: string;
  readonly sslMode: SslMode;
  readonly sslRootCert: string; // path, or ""
}

export const sslModes = ["disable", "require", "verify-full"] as const;
export type SslMode = (typeof sslModes)[number];

/** True for a setting that names a database of PostgreSQL. */
export const isPostgresUrl = (text: string): boolean => /^postgres(?:ql)?:\/\//.test(text);

const portDefault = 5432;
const urlPattern =
  /^postgres(?:ql)?:\/\/(?:([^:@/?]*)(?::([^@/?]*))?@)?([^/?]*)\/([^/?]*)(?:\?(.*))?$/;
const parametersKnown = ["host", "port", "user", "sslmode", "sslrootcert"];

/** Null where the text is no such address; a string says what is wrong with one part. */
export function parseDatabaseUrl(text: string): DatabaseAddress | string {
  const [, user = "", password = "", hosts = "", database = "", query = ""] =
    urlPattern.exec(text) ?? [];
  if (database === "") return "must be postgres://USER@HOST:PORT/DATABASE";
  const parameters = new URLSearchParams(query);
  const unknown = [...parameters.keys()].find((name) => !parametersKnown.includes(name));
  if (unknown !== undefined)
    return `has the parameter ${unknown}, which is none of ${parametersKnown.join(", ")}`;
  const folder = parameters.get("host") ?? "";
  const port = Number(parameters.get("port") ?? portDefault);
  const places = folder === "" ? hosts.split(",").map(placeOf) : [{ host: folder, port }];
  const wrong = places.find(({ host, port: one }) => host === "" || !isPort(one));
  if (wrong !== undefined) return "names no host, or a port that is none";
  const sslMode = parameters.get("sslmode") ?? sslModeFor(places);
  if (!isSslMode(sslMode)) return `has sslmode ${sslMode}, which is none of ${sslModes.join(", ")}`;
  return {
    hosts: places,
    user: decodeURIComponent(user) || (parameters.get("user") ?? ""),
    password: decodeURIComponent(password),
    database: decodeURIComponent(database),
    sslMode,
    sslRootCert: parameters.get("sslrootcert") ?? "",
  };
}

function placeOf(text: string): { host: string; port: number } {
  const [, host = "", port] = /^(\[[^\]]+\]|[^:]*)(?::(\d+))?$/.exec(text) ?? [];
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port ?? portDefault) };
}

const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65_535;
const isSslMode = (text: string): text is SslMode => (sslModes as readonly string[]).includes(text);

/** Passwords and money's records cross no network in the clear unless the setting says so. */
function sslModeFor(places: readonly { readonly host: string }[]): SslMode {
  const isHere = ({ host }: { readonly host: string }): boolean =>
    host.startsWith("/") || ["localhost", "127.0.0.1", "::1"].includes(host);
  return places.every(isHere) ? "disable" : "verify-full";
}

/** The address without its password, for messages. */
export function nameOfDatabase({ hosts, user, database }: DatabaseAddress): string {
  const places = hosts.map(({ host, port }) => `${host}:${port}`).join(",");
  return `postgres://${user === "" ? "" : `${user}@`}${places}/${database}`;
}
