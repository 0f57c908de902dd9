/**
 * The servers that people put before a gateway, with the lines of docs/install.md: requests and the
 * agents' link pass, and the caller's address comes along. Each runs where the machine has it.
 */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { connectionAdvice } from "../../base/connection-words.ts";
import { createGatewayKey } from "../../gateway/auth/gateway-key.ts";
import { parseConfig } from "../../gateway/config/config.ts";
import { type Gateway, startGateway } from "../../gateway/gateway.ts";
import { createStore } from "../../gateway/store/store.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";
import { freePort } from "../../lab/kit/processes.ts";

const page = readFileSync(fileURLToPath(new URL("../../docs/install.md", import.meta.url)), "utf8");
const programs = {
  nginx: "/usr/sbin/nginx",
  haproxy: "/usr/sbin/haproxy",
  caddy: "/usr/bin/caddy",
} as const;
type Front = keyof typeof programs;

let dir = "";
let gateway: Gateway;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "gateway-front-"));
  const kind = [
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-days",
    "2",
  ];
  execFileSync(
    "openssl",
    [...kind, "-subj", "/CN=pay.example.com", "-keyout", "pay.key", "-out", "pay.pem"],
    {
      cwd: dir,
      stdio: "ignore",
    },
  );
  writeFileSync(
    join(dir, "pay-and-key.pem"),
    readFileSync(join(dir, "pay.pem"), "utf8") + readFileSync(join(dir, "pay.key"), "utf8"),
  );
  const more = {
    publicUrl: "https://pay.example.com",
    trustProxy: ["127.0.0.1"],
    listen: { host: "127.0.0.1", port: 0 },
  };
  const config = parseConfig(
    JSON.stringify({
      ...testConfig,
      ...more,
      database: "sqlite:gateway.db",
      keyFile: "gateway.key",
    }),
    dir,
    0,
  );
  createStore(config.database, createGatewayKey(config.keyFile).fingerprint, silentLog).close();
  gateway = await startGateway(config, { log: silentLog, clock: Date.now, onPoisoned: () => {} });
});
afterAll(async () => {
  await gateway.close();
  rmSync(dir, { recursive: true });
});

/** The lines of the page for this machine's places. */
function linesOf(front: Front, port: number): string {
  const [, lines = ""] =
    new RegExp(`<!-- front ${front} -->\n\`\`\`\n([\\s\\S]+?)\`\`\``).exec(page) ?? [];
  expect(lines).not.toBe("");
  return lines
    .replaceAll("127.0.0.1:8080", new URL(gateway.url).host)
    .replaceAll("/etc/ssl/", `${dir}/`)
    .replace("listen 443 ssl", `listen 127.0.0.1:${port} ssl`)
    .replace("bind :443", `bind 127.0.0.1:${port}`)
    .replace(
      "pay.example.com {",
      `{\n auto_https disable_redirects\n admin off\n}\nhttps://pay.example.com:${port} {\n tls ${dir}/pay.pem ${dir}/pay.key`,
    );
}

function start(front: Front, lines: string) {
  const file = join(dir, front);
  if (front === "nginx") {
    const places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${dir}/nginx-${name};`)
      .join("\n");
    writeFileSync(
      file,
      `pid ${dir}/nginx.pid; error_log stderr; events {}\nhttp { access_log off;\n${places}\n${lines}\n}`,
    );
    return spawn(programs.nginx, ["-c", file, "-p", dir, "-g", "daemon off;"], { stdio: "ignore" });
  }
  writeFileSync(file, lines);
  const args =
    front === "haproxy" ? ["-f", file, "-db"] : ["run", "--adapter", "caddyfile", "--config", file];
  return spawn(programs[front], args, { stdio: "ignore", env: { HOME: dir } });
}

function get(port: number, path: string): Promise<readonly [status: number, body: string]> {
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        host: "127.0.0.1",
        port,
        path,
        rejectUnauthorized: false,
        servername: "pay.example.com",
        headers: { host: "pay.example.com" },
      },
      (answer) => {
        let body = "";
        answer.on("data", (part: Buffer) => {
          body += part.toString();
        });
        answer.on("end", () => resolve([answer.statusCode ?? 0, body]));
      },
    );
    asked.on("error", reject);
    asked.end();
  });
}

/** "open", or the error of the upgrade. */
function link(port: number): Promise<string> {
  return new Promise((resolve) => {
    const options = {
      rejectUnauthorized: false,
      servername: "pay.example.com",
      headers: { host: "pay.example.com" },
    };
    const socket = new WebSocket(`wss://127.0.0.1:${port}/agent/v1/link`, options);
    socket.on("open", () => {
      socket.terminate();
      resolve("open");
    });
    socket.on("error", (error) => resolve(error.message));
  });
}

/** Resolves when the front answers for the gateway. @throws after ten seconds */
async function isUp(port: number): Promise<void> {
  for (const endAt = performance.now() + 10_000; performance.now() < endAt; ) {
    const status = await get(port, "/health").then(
      ([answered]) => answered,
      () => 0,
    );
    if (status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("the front does not answer");
}

async function behind(
  front: Front,
  change: (lines: string) => string,
  work: (port: number) => Promise<void>,
): Promise<void> {
  const port = await freePort();
  const child = start(front, change(linesOf(front, port)));
  const ended = new Promise((resolve) => child.on("exit", resolve));
  try {
    await isUp(port);
    await work(port);
  } finally {
    child.kill();
    await ended;
  }
}

describe("a server before the gateway", () => {
  for (const front of ["nginx", "haproxy", "caddy"] as const)
    it.skipIf(!existsSync(programs[front]))(
      `passes requests and the link on: ${front}`,
      async () => {
        await behind(
          front,
          (lines) => lines,
          async (port) => {
            expect((await get(port, "/ready"))[0]).toBe(503); // no chain is read here
            const [status, body] = await get(port, "/agent/v1/link");
            expect([status, (JSON.parse(body) as { code: string }).code]).toEqual([
              426,
              "upgrade_required",
            ]);
            expect(await link(port)).toBe("open");
            // The proxy names the caller, who is therefore nobody of this machine to the gateway.
            expect((await get(port, "/ready"))[1]).not.toContain("figures");
          },
        );
      },
    );

  it.skipIf(!existsSync(programs.nginx))(
    "that drops the upgrade is named as the cause",
    async () => {
      const plain = (lines: string): string =>
        lines.replace(/ +proxy_set_header (?:Upgrade|Connection) .*\n/g, "");
      await behind("nginx", plain, async (port) => {
        const seen = await link(port);
        expect(seen).toBe("Unexpected server response: 426");
        expect(connectionAdvice(seen)?.words).toBe(
          "the server before the gateway does not pass WebSocket on",
        );
      });
    },
  );
});
