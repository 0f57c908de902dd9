/**
 * The page at /docs: whole without a script, and in a real browser without an error and without a
 * request to anybody else.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { operations } from "../../gateway/api/routes.ts";
import { eventTypes, testType } from "../../gateway/callbacks/events.ts";
import { startTestGateway, type TestGateway } from "../../lab/kit/gateway-server.ts";

const chromium = ["chromium", "chromium-browser", "google-chrome"].find(
  (name) => spawnSync("sh", ["-c", `command -v ${name}`]).status === 0,
);
if (chromium === undefined) process.stderr.write("\n*** SKIPPED for want of a browser: apt-get install chromium\n\n");

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

describe("/docs", () => {
  it("/docs is one page under a strict policy that allows no script, and names every operation", async () => {
    const { status, headers, text } = await gateway.send("/docs");
    expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(headers["content-security-policy"]).toContain("default-src 'none'; style-src 'self';");
    expect(headers["content-security-policy"]).not.toMatch(/script|unsafe|\*/);
    for (const { method, path } of operations) {
      const shown = `${method}</span> <code>/api/v1${path.replace(/:(\w+)/, "{$1}")}</code>`;
      expect(text).toContain(shown);
    }
    for (const type of [...eventTypes, testType]) expect(text).toContain(`POST</span> <code>${type}</code>`);
    expect(text).not.toMatch(/<script|\bon[a-z]+=|style="|undefined|\[object/);
    const elsewhere = [...text.matchAll(/(?:src|href)="([^"]*)"/g)]
      .map(([, place = ""]) => place)
      .filter((place) => /^\w+:/.test(place));
    expect(elsewhere).toEqual(["data:,"]);
    const ids = new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
    const targets = [...text.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(targets.filter((id) => !ids.has(id))).toEqual([]);
    expect((await gateway.send("/docs", { method: "POST", headers: { "Content-Type": "application/json" } })).status).toBe(405);
  });

  it.skipIf(chromium === undefined)(
    "/docs shows all operations in Chromium, asks nobody else for anything, and logs no error",
    async () => {
      const profile = mkdtempSync(join(tmpdir(), "docs-page-"));
      const browser = spawn(
        chromium ?? "",
        [
          ...["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage", "--disable-sync"],
          ...["--disable-background-networking", "--disable-component-update", "--disable-extensions"],
          // the browser itself would call its maker
          "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
          ...["--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank"],
        ],
        { stdio: ["ignore", "ignore", "pipe"], detached: true },
      );
      try {
        const { shown, errors, asked } = await look(browser, `${gateway.url}/docs`);
        expect(errors).toEqual([]);
        expect(shown.headings.filter((text) => text.includes("/api/v1/"))).toHaveLength(operations.length);
        expect(shown.headings.filter((text) => text.includes("POST deposit.") || text.includes("POST withdrawal."))).toHaveLength(
          eventTypes.length,
        );
        expect(shown.columns).toContain("px"); // the style sheet is in force
        expect(asked.filter((place) => place !== "data:,")).toEqual([`${gateway.url}/docs`, `${gateway.url}/docs/style.css`]);
      } finally {
        // The children end with it, because they would go on writing into the profile: all are of
        // its group.
        if (browser.pid !== undefined && browser.exitCode === null) process.kill(-browser.pid, "SIGKILL");
        await new Promise((resolve) =>
          browser.exitCode === null && browser.signalCode === null ? browser.once("exit", resolve) : resolve(0),
        );
        rmSync(profile, { recursive: true, force: true, maxRetries: 25, retryDelay: 100 });
      }
    },
    30_000,
  );
});

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: { readonly sessionId?: string; readonly targetId?: string; readonly result?: { readonly value?: string } };
}

/**
 * Opens `url` in the browser; returns the visible text, and everything that was logged or refused
 * as an error.
 */
async function look(browser: ChildProcess, url: string) {
  const place = await new Promise<string>((resolve, reject) => {
    let text = "";
    browser.stderr?.on("data", (part) => {
      text += part;
      const found = /DevTools listening on (ws:\S+)/.exec(text)?.[1];
      if (found !== undefined) resolve(found);
    });
    browser.once("exit", () => reject(new Error(`the browser ended: ${text}`)));
  });
  const socket = new WebSocket(place);
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const waiting = new Map<number, (message: Message) => void>();
  const errors: string[] = [];
  const asked: string[] = [];
  let loaded = (): void => {};
  const isLoaded = new Promise<void>((resolve) => {
    loaded = resolve;
  });
  socket.on("message", (data) => {
    const message = JSON.parse(`${data}`) as Message;
    if (message.id !== undefined) waiting.get(message.id)?.(message);
    if (message.method === "Page.loadEventFired") loaded();
    if (message.method === "Network.requestWillBeSent") asked.push((message.params as { request: { url: string } }).request.url);
    if (/^(?:Log\.entryAdded|Runtime\.(?:consoleAPICalled|exceptionThrown)|Network\.loadingFailed)$/.test(message.method ?? ""))
      errors.push(JSON.stringify(message.params));
  });
  let count = 0;
  const send = (method: string, params: object = {}, sessionId?: string): Promise<Message> =>
    new Promise((resolve) => {
      count += 1;
      waiting.set(count, resolve);
      socket.send(JSON.stringify({ id: count, method, params, ...(sessionId === undefined ? {} : { sessionId }) }));
    });
  const { result: target } = await send("Target.createTarget", { url: "about:blank" });
  const { result } = await send("Target.attachToTarget", { targetId: target?.targetId, flatten: true });
  for (const name of ["Page", "Log", "Runtime", "Network"]) await send(`${name}.enable`, {}, result?.sessionId);
  await send("Page.navigate", { url }, result?.sessionId);
  await isLoaded;
  const expression = `JSON.stringify({ headings: [...document.querySelectorAll("section h3")].map((one) => one.innerText),
    columns: getComputedStyle(document.body).gridTemplateColumns })`;
  const said = await send("Runtime.evaluate", { expression }, result?.sessionId);
  socket.close();
  const shown = JSON.parse(said.result?.result?.value ?? "{}") as {
    readonly headings: readonly string[];
    readonly columns: string;
  };
  return { shown, errors, asked };
}
