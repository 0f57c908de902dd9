/**
 * A proxy in front of the gateway that lets every request through and spoils its answer: the order
 * is stored, and the shop does not learn so.
 */
import { createServer, type IncomingHttpHeaders, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * `html-…`: the proxy's own page with that status; `json`: its own error as JSON, without a code;
 * `cut`: half of the answer; `silent`: no answer; `good`: the answer as it is.
 */
export type Day = "html-502" | "html-404" | "html-200" | "json" | "cut" | "silent" | "good";

export interface BadDays {
  readonly url: string;
  /** The days to come, a request each; the last one stays. */
  days: Day[];
  /** How many requests have come. */
  readonly asked: () => number;
  close(): Promise<void>;
}

const page = "<html><body><h1>Something is wrong</h1></body></html>";

function spoil(
  day: Day,
  answer: { status: number; headers: IncomingHttpHeaders; body: Buffer },
  response: ServerResponse,
): void {
  const { status, headers, body } = answer;
  if (day === "silent") return;
  if (day === "good") response.writeHead(status, headers).end(body);
  else if (day === "cut") {
    response.writeHead(status, {
      "content-type": "application/json",
      "content-length": body.length,
    });
    response.write(body.subarray(0, body.length / 2), () => response.destroy());
  } else if (day === "json")
    response
      .writeHead(500, { "content-type": "application/json" })
      .end('{"message":"no upstream"}');
  else
    response
      .writeHead(Number(day.slice("html-".length)), { "content-type": "text/html" })
      .end(page);
}

export async function startBadDays(target: string): Promise<BadDays> {
  let asked = 0;
  const server = createServer((incoming, response) => {
    asked += 1;
    const [day = "good"] = made.days.length > 1 ? made.days.splice(0, 1) : made.days;
    const { method, url = "/", headers } = incoming;
    const onward = request(new URL(url, target), { method, headers, agent: false }, (answer) => {
      const parts: Buffer[] = [];
      answer.on("data", (part: Buffer) => parts.push(part));
      answer.on("end", () =>
        spoil(
          day,
          { status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(parts) },
          response,
        ),
      );
    });
    onward.on("error", () => response.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const made: BadDays = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    days: ["good"],
    asked: () => asked,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return made;
}
