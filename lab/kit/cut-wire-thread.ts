/**
 * The thread of `cut-wire.ts`: passes messages of PostgreSQL's protocol on, counts those of both
 * directions, and cuts the wire in the place of one of them. Source:
 * postgresql.org/docs/15/protocol-message-formats.html (a type of one byte, then a length that
 * counts itself; the first message of a client has no type).
 */
import { createConnection, createServer, type Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";

const { listenAt, serverAt, shared } = workerData as {
  readonly listenAt: string;
  readonly serverAt: string;
  readonly shared: Int32Array; // number of messages since it was set to 0; number of the cut one, 0 none
};

/** Takes the whole messages from the head of `bytes`; `hasType` is false for the first one. */
function* messagesIn(held: { bytes: Buffer; hasType: boolean }): Generator<Buffer> {
  for (;;) {
    const head = held.hasType ? 1 : 0;
    if (held.bytes.length < head + 4) return;
    const end = head + held.bytes.readInt32BE(head);
    if (held.bytes.length < end) return;
    const message = held.bytes.subarray(0, end);
    held.bytes = held.bytes.subarray(end);
    held.hasType = true;
    yield message;
  }
}

function pass(from: Socket, to: Socket, hasType: boolean): void {
  const held = { bytes: Buffer.alloc(0), hasType };
  from.on("data", (bytes: Buffer) => {
    held.bytes = Buffer.concat([held.bytes, bytes]);
    for (const message of messagesIn(held)) {
      const number = Atomics.add(shared, 0, 1) + 1;
      if (number === Atomics.load(shared, 1)) {
        from.destroy();
        to.end(); // what was passed on before still arrives
        return;
      }
      to.write(message);
    }
  });
  from.on("close", () => to.end());
  from.on("error", () => to.destroy());
}

createServer((client) => {
  const server = createConnection(serverAt);
  pass(client, server, false);
  pass(server, client, true);
}).listen(listenAt, () => parentPort?.postMessage("listens"));
