/**
 * The thread that holds the connection to PostgreSQL. The gateway's own thread sends statements and
 * sleeps until the bell rings, so a transaction is a plain function on both engines. Statements of
 * one message are sent without waiting between them. A lost connection is never opened again: what
 * the last transaction did is then unknown, and the process ends. Sources:
 * postgresql.org/docs/15/protocol-flow.html (pipelining); github.com/porsager/postgres.
 */
import { readFileSync } from "node:fs";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { type MessagePort, workerData } from "node:worker_threads";
import postgres from "postgres";
import type {
  ConnectionOrder,
  PostgresAnswer,
  PostgresAsk,
  PostgresCell,
  PostgresRefusal,
  PostgresReply,
} from "./messages.ts";

const { port, ...order } = workerData as ConnectionOrder & { readonly port: MessagePort };

/** The types of columns that are read otherwise than as texts; numbers of the catalogue. */
const bool = 16;
const int8 = 20;
const json = 114;
const numeric = 1700;

const same = (value: unknown): string => String(value);

const types = {
  bool: {
    to: bool,
    from: [bool],
    serialize: same,
    parse: (text: string) => (text === "t" ? 1 : 0),
  },
  // No column of this program is beyond 53 bits: base units are texts.
  bigint: { to: int8, from: [int8, numeric], serialize: same, parse: Number },
  json: { to: json, from: [json], serialize: same, parse: same },
};

let lost = "";
let warning = "";
/** The library leaves statements without an end that a closing connection had not sent yet. */
let endAsks: (reply: PostgresReply) => void = () => {};

const { address } = order;

/**
 * A root certificate without a host's check would promise what it does not hold. The library names
 * no host that is a number to Node, which would then compare the certificate with "localhost".
 */
function tlsOptions(): object | false {
  if (address.sslMode === "disable") return false;
  return {
    rejectUnauthorized: address.sslMode === "verify-full",
    checkServerIdentity: (_: string, certificate: PeerCertificate) =>
      checkServerIdentity(address.server.host, certificate),
    ...(address.sslRootCert === "" ? {} : { ca: readFileSync(address.sslRootCert, "utf8") }),
  };
}

/** The library's own words: a socket is the path of its file. */
function places(): object {
  const { host, port } = address.server;
  return host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
}

function connect() {
  return postgres({
    ...places(),
    database: address.database,
    ...(address.user === "" ? {} : { username: address.user }),
    ...(address.password === "" ? {} : { password: address.password }),
    ssl: tlsOptions(),
    max: 1,
    fetch_types: false,
    max_lifetime: null,
    idle_timeout: 0,
    connect_timeout: Math.ceil(order.timeoutMs / 1000),
    connection: { ...order.settings },
    types,
    onnotice({ severity, message = "" }: postgres.Notice) {
      if (severity === "WARNING") warning = message;
    },
    onclose() {
      lost = "the connection was closed";
      endAsks({ answers: [], refusal: refusalOf(new Error(lost)) });
    },
  } as unknown as postgres.Options<Record<string, postgres.PostgresType>>);
}

type Asker = Pick<ReturnType<typeof connect>, "unsafe">;

async function ask(asker: Asker, { text, values }: PostgresAsk): Promise<PostgresAnswer> {
  warning = "";
  const rows = await asker.unsafe(text, [...values] as never[], { prepare: true });
  return {
    rows: rows.map((row) => ({ ...row }) as Record<string, PostgresCell>),
    changes: rows.count ?? 0,
    command: rows.command ?? "",
    warning,
  };
}

function refusalOf(error: unknown): PostgresRefusal {
  const { code, message, constraint_name: constraint } = error as Partial<postgres.PostgresError>;
  const isServers = error instanceof postgres.PostgresError && lost === "";
  return {
    sqlState: isServers ? (code ?? "") : "",
    message: message ?? String(error),
    constraint: constraint ?? "",
  };
}

/** The answers to `asks`, or the refusal of a connection that is closed meanwhile. */
function reply(asker: Asker, asks: readonly PostgresAsk[]): Promise<PostgresReply> {
  return new Promise((resolve, reject) => {
    endAsks = resolve;
    answersOf(asker, asks).then(resolve, reject);
  });
}

async function answersOf(asker: Asker, asks: readonly PostgresAsk[]): Promise<PostgresReply> {
  const ends = await Promise.allSettled(asks.map((one) => ask(asker, one)));
  const answers: PostgresAnswer[] = [];
  for (const end of ends) {
    if (end.status === "rejected") return { answers, refusal: refusalOf(end.reason) };
    answers.push(end.value);
  }
  return { answers, refusal: null };
}

function ring(message: PostgresReply): void {
  port.postMessage(message);
  Atomics.store(order.bell, 0, 1);
  Atomics.notify(order.bell, 0);
}

const nothing: PostgresReply = { answers: [], refusal: null };

try {
  const client = connect();
  // The library reserves an open connection, and waits without end for the first one without types.
  await client.unsafe("SELECT 1");
  const connection = await client.reserve();
  port.on("message", async (asks: readonly PostgresAsk[]) => {
    if (lost !== "") ring({ answers: [], refusal: refusalOf(new Error(lost)) });
    else ring(await reply(connection, asks));
  });
  ring(nothing);
} catch (error) {
  ring({ answers: [], refusal: refusalOf(error) });
}
