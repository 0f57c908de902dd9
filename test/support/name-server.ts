/** A name server on loopback. Every name has the addresses that the test gives. */
import { createSocket, type Socket as UdpSocket } from "node:dgram";

export interface NameServer {
  readonly at: string; // address and port
  close(): void;
}

/** Each function gives the addresses of the next answer; null leaves the question unanswered. */
export async function startNameServer(answers: {
  readonly four: () => readonly string[] | null;
  readonly six: () => readonly string[] | null;
  readonly code?: number; // of every answer: 0 fine, 2 the server failed, 3 no such name
}): Promise<NameServer> {
  const socket: UdpSocket = createSocket("udp4");
  socket.on("message", (query, from) => {
    const end = query.indexOf(0, 12) + 5;
    const isFour = query.readUInt16BE(end - 4) === 1;
    const addresses = isFour ? answers.four() : answers.six();
    if (addresses === null) return;
    const head = Buffer.from(query.subarray(0, end));
    head.writeUInt16BE(0x8180 | (answers.code ?? 0), 2);
    head.writeUInt16BE(addresses.length, 6);
    head.writeUInt16BE(0, 10);
    const records = addresses.map((address) => {
      const bytes = isFour ? Buffer.from(address.split(".").map(Number)) : bytesOfSix(address);
      const kind = [
        Buffer.from("c00c", "hex"),
        query.subarray(end - 4, end),
        Buffer.from("00000000", "hex"),
      ];
      return Buffer.concat([...kind, Buffer.from([0, bytes.length]), bytes]);
    });
    socket.send(Buffer.concat([head, ...records]), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  return { at: `127.0.0.1:${socket.address().port}`, close: () => void socket.close() };
}

/** An address with at most one `::`, as 16 bytes. */
function bytesOfSix(address: string): Buffer {
  const [front = "", back = ""] = address.split("::");
  const groups = (text: string): string[] =>
    text === "" ? [] : text.split(":").map((group) => group.padStart(4, "0"));
  const [first, last] = [groups(front), groups(back)];
  const gap = Array.from({ length: 8 - first.length - last.length }, () => "0000");
  return Buffer.from([...first, ...gap, ...last].join(""), "hex");
}
