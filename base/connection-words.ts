/**
 * The likely cause of a connection that failed, and the line to type, by what was seen: the
 * system's or TLS's code, or the status of an answer that is no answer of the service. One table
 * for pairing, link, status and doctor. Pure. Sources: errno(3); nodejs.org/api/tls.html, X509
 * certificate error codes.
 */

interface Advice {
  readonly words: string; // the likely cause, in lower case, without a stop
  readonly hint: string;
}

const untrusted: Advice = {
  words:
    "its certificate is of an authority that this machine does not know, such as a company's own, or of a firewall that opens TLS",
  hint: "write the authority's certificate (PEM) to a file and name it in network.ca of config.json",
};

const noWebSocket: Advice = {
  words: "the server before the gateway does not pass WebSocket on",
  hint: "let it pass the headers Upgrade and Connection on: docs/install.md, section 6, has the lines for nginx, Caddy and haproxy",
};

const firewall: Advice = {
  words: "a firewall drops the connection, or nothing is at this address",
  hint: "open the port for going out, or name the company's proxy in network.proxy of config.json",
};

const table: readonly (readonly [pattern: RegExp, advice: Advice])[] = [
  [
    /UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|CERT_UNTRUSTED/,
    untrusted,
  ],
  [
    /CERT_HAS_EXPIRED/,
    {
      words: "its certificate has ended",
      hint: "its operator renews the certificate; look at this machine's clock too, which doctor compares",
    },
  ],
  [
    /CERT_NOT_YET_VALID/,
    {
      words: "its certificate is not valid yet",
      hint: "look at this machine's clock: doctor compares it with the newest block",
    },
  ],
  [
    /ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH/,
    {
      words: "its certificate is for another name",
      hint: "write the address as the certificate names it",
    },
  ],
  [
    /ENOTFOUND|EAI_AGAIN/,
    {
      words: "its name is not found",
      hint: "look at the name, and at DNS of this machine; a host that only the company's proxy knows needs network.proxy in config.json",
    },
  ],
  [
    /PROXY_LOGIN/,
    {
      words: "the proxy wants a user name",
      hint: "write it in network.proxy: http://USER:PASSWORD@HOST:PORT",
    },
  ],
  [
    /PROXY_REFUSED/,
    {
      words: "the proxy refuses this host",
      hint: "let the proxy pass CONNECT to it, or name the host in network.direct",
    },
  ],
  [
    /PROXY_ANSWER/,
    { words: "network.proxy is no HTTP proxy", hint: "look at network.proxy in config.json" },
  ],
  [/Unexpected server response: (?:200|301|302|307|308|400|404|405|426|501)\b/, noWebSocket],
  [
    /Unexpected server response: 40[13]\b/,
    {
      words: "the server before the gateway refuses this machine",
      hint: "let its rules pass the agent's path /agent/ on",
    },
  ],
  [
    /Unexpected server response: 50[234]\b/,
    {
      words: "the server before the gateway runs, and the gateway behind it does not answer",
      hint: "its operator looks whether the gateway runs",
    },
  ],
  [
    /ECONNREFUSED/,
    {
      words: "nothing listens at this address",
      hint: "check that the gateway runs, then the address and its port",
    },
  ],
  [/ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/, firewall],
  [
    /EPROTO|WRONG_VERSION_NUMBER/,
    {
      words: "the other side does not speak TLS at this port",
      hint: "look at the scheme and the port of the address",
    },
  ],
];

/** The advice on what was seen; null for what the table does not know. */
export function connectionAdvice(seen: string): Advice | null {
  return table.find(([pattern]) => pattern.test(seen))?.[1] ?? null;
}

/** The observation, with its likely cause behind it. */
export function addLikelyCause(seen: string): string {
  const advice = connectionAdvice(seen);
  return advice === null ? seen : `${seen}: ${advice.words}`;
}
