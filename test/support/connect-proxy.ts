/**
 * A company's proxy: HTTP CONNECT on loopback. It alone knows the names of the hosts behind it,
 * which are all this machine.
 */
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

export interface ConnectProxy {
  readonly port: number;
  readonly asked: string[]; // each authority, in order
  close(): Promise<void>;
}

/**
 * @param user "NAME:PASSWORD" that it wants, "" for none; `refuses` are hosts that it passes nobody
 * to
 */
export async function startConnectProxy(
  user = "",
  refuses: readonly string[] = [],
): Promise<ConnectProxy> {
  const asked: string[] = [];
  const open = new Set<Socket>();
  const server = createServer((_request, response) => response.writeHead(501).end());
  server.on("connect", (request, near: Socket, head: Buffer) => {
    open.add(near);
    near.on("error", () => near.destroy());
    const authority = request.url ?? "";
    asked.push(authority);
    const wanted = `Basic ${Buffer.from(user).toString("base64")}`;
    if (user !== "" && request.headers["proxy-authorization"] !== wanted) {
      near.end(
        'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="x"\r\n\r\n',
      );
      return;
    }
    const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(authority) ?? [];
    if (refuses.includes(host)) {
      near.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\nno way");
      return;
    }
    const far = connect(Number(port), "127.0.0.1", () => {
      near.write("HTTP/1.1 200 Connection established\r\nVia: 1.1 proxy\r\n\r\n");
      far.write(head);
      near.pipe(far).pipe(near);
    });
    open.add(far);
    far.on("error", () => near.destroy());
    near.on("close", () => far.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    close: () => {
      for (const socket of open) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
