/**
 * Reads `network` of config.json: the certificates and the proxy of a company, and the file of the
 * certificates. Source: docs/operations.md, section 2.
 */
import { X509Certificate } from "node:crypto";
import type { Egress } from "../../base/egress.ts";
import { AgentError, reasonOf } from "../../base/fault.ts";
import { settings } from "../../base/settings.ts";
import type { Reader } from "../../base/shape.ts";
import { readTrusted } from "../files/trusted.ts";
import type { NetworkSettings } from "./settings.ts";

const hostsMax = 64;
const hostPattern = /^\.?[a-z0-9][a-z0-9.:-]{0,253}$/;
const caBytesMax = 1024 * 1024;
const certificatePattern = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

const { list, object, string, valueFault } = settings;

const readPath: Reader<string> = (value, path) => {
  const text = string({ max: Number.MAX_SAFE_INTEGER })(value, path);
  if (text.startsWith("/") && text.length <= 4096 && !text.includes("\0")) return text;
  throw valueFault(
    path,
    "must be the whole path of a PEM file, such as /etc/autowithdraw/company-ca.pem",
  );
};

/** No message shows the address: it may hold a password. */
const readProxy: Reader<string> = (value, path) => {
  const text = string()(value, path);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol === "http:" && url.pathname === "/" && url.search === "" && url.hash === "")
    return url.href;
  throw valueFault(
    path,
    "must be http://HOST:PORT, with USER:PASSWORD@ before the host if the proxy wants it",
  );
};

const readHost: Reader<string> = (value, path) => {
  const host = string()(value, path).toLowerCase();
  if (hostPattern.test(host)) return host;
  throw valueFault(path, "is no host, such as node.example, 10.0.0.5, or .example for all in it");
};

const networkShape = object(
  {},
  { ca: readPath, proxy: readProxy, direct: list(readHost, hostsMax) },
);

/** @throws AgentError CONFIG_* */
export const readNetworkSettings: Reader<NetworkSettings> = (value, path) => {
  const { direct = [], ...given } = networkShape(value, path);
  return { ...given, direct };
};

/**
 * The settings of the processes that have the network, with the certificates themselves. Null
 * without `network`. The file must belong to root or this user, and nobody else may write it.
 * @throws AgentError CONFIG_CA, FILE_*
 */
export function egressOf(network: NetworkSettings | undefined): Egress | null {
  if (network === undefined) return null;
  const { ca: path, proxy = "", direct } = network;
  return { ca: path === undefined ? "" : readCertificates(path), proxy, direct };
}

/** The file's bytes. @throws AgentError CONFIG_CA, FILE_* */
function bytesOf(path: string): Uint8Array {
  const unusable = (why: string, cause?: unknown): AgentError =>
    new AgentError(
      "CONFIG_CA",
      "none",
      `${path} of network.ca cannot be read: ${why}`,
      { path },
      { cause },
    );
  let bytes: Uint8Array | null;
  try {
    bytes = readTrusted(path, caBytesMax, { owner: "own", isSecret: false });
  } catch (cause) {
    throw cause instanceof AgentError ? cause : unusable(reasonOf(cause), cause);
  }
  if (bytes === null) throw unusable(`it is longer than ${caBytesMax} bytes`);
  return bytes;
}

function readCertificates(path: string): string {
  const bytes = bytesOf(path);
  const found = Buffer.from(bytes).toString("latin1").match(certificatePattern) ?? [];
  if (found.length === 0)
    throw new AgentError("CONFIG_CA", "none", `${path} of network.ca holds no certificate in PEM`, {
      path,
    });
  for (const [index, pem] of found.entries()) {
    try {
      new X509Certificate(pem);
    } catch (cause) {
      const message = `certificate ${index + 1} in ${path} of network.ca cannot be read: ${reasonOf(cause)}`;
      throw new AgentError("CONFIG_CA", "none", message, { path }, { cause });
    }
  }
  return found.join("\n");
}
